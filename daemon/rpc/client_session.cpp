// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/client_session.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/rpc/http2.hpp"

#include <algorithm>

namespace gpuhost::rpc {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t most_headers = 64U << 10U; ///< bytes of the answer's headers and trailers
constexpr std::size_t header_overhead = 32;

} // namespace

struct ClientCallbacks {
    static ClientSession& session(void* self) { return *static_cast<ClientSession*>(self); }

    static ssize_t read(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size,
                        std::uint32_t* flags, nghttp2_data_source*, void* self) noexcept {
        ClientSession& client = session(self);
        const std::string_view part = std::string_view(client.framed_).substr(client.sent_, size);
        std::copy(part.begin(), part.end(), to);
        client.sent_ += part.size();
        if (client.sent_ == client.framed_.size())
            *flags |= NGHTTP2_DATA_FLAG_EOF;
        return static_cast<ssize_t>(part.size());
    }

    static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                         std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                         std::uint8_t, void* self) noexcept {
        return guarded([&] {
            session(self).add_header(view(name, name_size), view(value, value_size));
            return 0;
        });
    }

    static int on_data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data,
                       std::size_t size, void* self) noexcept {
        return guarded([&] {
            ClientSession& client = session(self);
            if (client.answer_ || client.http_status_ != "200")
                return 0;
            if (const Status status = client.reader_.add(view(data, size)); !status.ok())
                client.fail(Errc::BadContent, status.message);
            return 0;
        });
    }

    static int on_close(nghttp2_session*, std::int32_t, std::uint32_t code, void* self) noexcept {
        return guarded([&] {
            ClientSession& client = session(self);
            if (code != NGHTTP2_NO_ERROR && !client.status_)
                client.fail(Errc::Failed,
                            std::string("the server reset the call: ") + nghttp2_http2_strerror(code));
            client.finish();
            return 0;
        });
    }

    static nghttp2_session_callbacks* make() {
        nghttp2_session_callbacks* made = nullptr;
        if (nghttp2_session_callbacks_new(&made) != 0)
            return nullptr;
        nghttp2_session_callbacks_set_on_header_callback(made, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(made, on_close);
        return made;
    }
};

void ClientSession::Http2Delete::operator()(nghttp2_session* session) const noexcept {
    nghttp2_session_del(session);
}

Result<std::unique_ptr<ClientSession>> ClientSession::make(UnaryRequest request) {
    std::unique_ptr<ClientSession> made(new ClientSession(std::move(request)));
    GPUHOST_CHECK(made->submit());
    return made;
}

ClientSession::ClientSession(UnaryRequest request)
    : request_(std::move(request)), framed_(framed(request_.message)), reader_(request_.limit) {}

ClientSession::~ClientSession() = default;

Result<void> ClientSession::submit() {
    const Http2Callbacks callbacks(ClientCallbacks::make());
    nghttp2_session* session = nullptr;
    int code = callbacks ? nghttp2_session_client_new(&session, callbacks.get(), this)
                         : static_cast<int>(NGHTTP2_ERR_NOMEM);
    http2_.reset(session);
    const nghttp2_settings_entry no_push{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
    if (code == 0)
        code = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &no_push, 1);
    if (code != 0)
        return fail_http2("HTTP/2", code);
    const std::string timeout = std::to_string(request_.deadline.count()) + "m"; // milliseconds
    const Headers headers{{":method", "POST"},        {":scheme", "http"},
                          {":path", request_.method}, {":authority", "localhost"},
                          {"te", "trailers"},         {"content-type", "application/grpc"},
                          {"user-agent", "gpuhost"},  {"grpc-timeout", timeout}};
    nghttp2_data_provider provider{};
    provider.read_callback = ClientCallbacks::read;
    code = nghttp2_submit_request(session, nullptr, headers.data(), headers.size(), &provider, nullptr);
    if (code < 0)
        return fail_http2("HTTP/2", code);
    return {};
}

void ClientSession::receive(std::string_view bytes) {
    if (const auto received = rpc::receive(http2_.get(), bytes); !received)
        fail(received.error().code, received.error().message);
}

void ClientSession::output(std::string& bytes) {
    if (const auto sent = rpc::output(http2_.get(), bytes); !sent)
        fail(sent.error().code, sent.error().message);
    if (nghttp2_session_want_read(http2_.get()) == 0 && nghttp2_session_want_write(http2_.get()) == 0)
        fail(Errc::BadContent, "the answer is not HTTP/2"); // nghttp2 has ended the session
}

void ClientSession::end() {
    fail(Errc::Failed, "the server closed the connection");
}

std::optional<Result<std::string>> ClientSession::answer() const {
    return answer_;
}

void ClientSession::add_header(std::string_view name, std::string_view value) {
    header_size_ += name.size() + value.size() + header_overhead;
    if (header_size_ > most_headers)
        return fail(Errc::BadContent, "the headers of the answer are too large");
    if (name == ":status")
        http_status_ = value;
    else if (name == "content-type")
        content_type_ = value;
    else if (name == "grpc-message")
        status_message_ = decode_message(value);
    else if (name == "grpc-status") {
        const auto code = base::parse_uint(value);
        status_ = Status{code && *code <= 16 ? static_cast<Code>(*code) : Code::Unknown, {}};
    }
}

/// Decides by what has arrived when the server has ended the call.
void ClientSession::finish() {
    if (answer_)
        return;
    if (status_ && !status_->ok()) {
        const base::Error error = error_of({status_->code, status_message_});
        return fail(error.code, error.message);
    }
    if (http_status_ != "200")
        return fail(Errc::Failed, "the server answered with HTTP status " + http_status_);
    if (!status_ || !is_grpc(content_type_))
        return fail(Errc::BadContent, "the answer is not gRPC");
    if (!reader_.complete())
        return fail(Errc::BadContent, "the answer has no complete message");
    answer_ = std::string(reader_.message());
    reader_.clear();
}

void ClientSession::fail(Errc code, const std::string& problem) {
    if (!answer_)
        answer_ = base::fail(code, request_.method + ": " + problem);
}

} // namespace gpuhost::rpc
