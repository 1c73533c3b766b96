// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/server_callbacks.hpp"

#include "daemon/rpc/http2.hpp"
#include "daemon/rpc/server_session.hpp"
#include "daemon/rpc/server_stream.hpp"

namespace gpuhost::rpc {

/// nghttp2's callbacks: each finds the session and the stream.
struct ServerCallbacks {
    static ServerSession& session(void* self) { return *static_cast<ServerSession*>(self); }

    static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* self) noexcept {
        return guarded([&] {
            session(self).count_frame(head->type, head->length);
            return 0;
        });
    }

    static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
        return guarded([&] {
            if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
                session(self).begin_request(frame->hd.stream_id);
            return 0;
        });
    }

    static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                         std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                         std::uint8_t, void* self) noexcept {
        return guarded([&] {
            ServerStream* stream = session(self).find(frame->hd.stream_id);
            if (!stream)
                return 0;
            constexpr std::size_t overhead = 32; // of a header, RFC 9113, SETTINGS_MAX_HEADER_LIST_SIZE
            stream->head.size += name_size + value_size + overhead;
            if (stream->head.size > session(self).limits_.headers)
                return static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE);
            std::string* place = stream->head.place(view(name, name_size));
            if (place && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
                *place = view(value, value_size);
            return 0;
        });
    }

    static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                       std::size_t size, void* self) noexcept {
        return guarded([&] {
            if (ServerStream* stream = session(self).find(id))
                session(self).add_data(*stream, view(data, size));
            return 0;
        });
    }

    static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
        return guarded([&] {
            if (frame->hd.type == NGHTTP2_SETTINGS)
                session(self).settled_ = true;
            ServerStream* stream = session(self).find(frame->hd.stream_id);
            if (!stream)
                return 0;
            if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
                session(self).check_head(*stream);
            const bool has_content = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
            if (has_content && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
                session(self).end_request(*stream);
            return 0;
        });
    }

    /// Frees a stream whose answer ended before its request: the client may stop sending (RFC 9113, 8.1).
    static int on_frame_sent(nghttp2_session* http2, const nghttp2_frame* frame, void*) noexcept {
        const auto id = frame->hd.stream_id;
        if (frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
            nghttp2_session_get_stream_remote_close(http2, id) == 0)
            (void)nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
        return 0;
    }

    static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* self) noexcept {
        return guarded([&] {
            session(self).close_stream(id);
            return 0;
        });
    }
};

nghttp2_session_callbacks* make_server_callbacks() {
    nghttp2_session_callbacks* made = nullptr;
    if (nghttp2_session_callbacks_new(&made) != 0)
        return nullptr;
    nghttp2_session_callbacks_set_on_begin_frame_callback(made, ServerCallbacks::on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(made, ServerCallbacks::on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(made, ServerCallbacks::on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, ServerCallbacks::on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, ServerCallbacks::on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(made, ServerCallbacks::on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, ServerCallbacks::on_close);
    return made;
}

} // namespace gpuhost::rpc
