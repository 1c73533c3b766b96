// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/server_stream.hpp"

#include "daemon/rpc/http2.hpp"
#include "daemon/rpc/server_session.hpp"

#include <algorithm>

namespace gpuhost::rpc {

namespace {

constexpr std::string_view content_type = "application/grpc";

ssize_t read_callback(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size,
                      std::uint32_t* flags, nghttp2_data_source* source, void*) noexcept {
    return guarded(
        [&] { return static_cast<int>(static_cast<ServerStream*>(source->ptr)->read(to, size, flags)); });
}

} // namespace

std::string* RequestHead::place(std::string_view name) {
    if (name == ":method")
        return &method;
    if (name == ":path")
        return &path;
    if (name == "content-type")
        return &content_type;
    return name == "te" ? &te : nullptr;
}

unsigned RequestHead::http_status() const {
    if (method != "POST")
        return 405;
    if (!is_grpc(content_type))
        return 415;
    return te == "trailers" ? 200 : 400;
}

void ServerStream::send(std::string_view message) {
    if (!open())
        return;
    queue_.push_back(framed(message));
    queued_ += queue_.back().size();
    session->count_outgoing(queue_.back().size());
    begin_answer();
    resume();
}

void ServerStream::end(Status status) {
    if (!open())
        return;
    ended_ = std::move(status);
    on_cancel = nullptr;
    if (begun_)
        return resume();
    // An answer without a message has one block of headers, which is also its trailers.
    const std::string code = std::to_string(static_cast<unsigned>(ended_->code));
    const std::string message = encode_message(ended_->message);
    const Headers headers{
        {":status", "200"}, {"content-type", content_type}, {"grpc-status", code}, {"grpc-message", message}};
    (void)nghttp2_submit_response(session->http2_.get(), id, headers.data(), headers.size(), nullptr);
    session->wake();
}

void ServerStream::refuse(unsigned http_status) {
    if (!open())
        return;
    ended_ = Status{Code::Unimplemented, "not a request of gRPC"};
    const std::string status = std::to_string(http_status);
    const Headers headers{{":status", status}};
    (void)nghttp2_submit_response(session->http2_.get(), id, headers.data(), headers.size(), nullptr);
    session->wake();
}

void ServerStream::begin_answer() {
    if (begun_)
        return;
    begun_ = true;
    const Headers headers{{":status", "200"}, {"content-type", content_type}};
    nghttp2_data_provider provider{};
    provider.source.ptr = this; // on_stream_close comes before the stream is freed
    provider.read_callback = read_callback;
    (void)nghttp2_submit_response(session->http2_.get(), id, headers.data(), headers.size(), &provider);
}

void ServerStream::resume() {
    if (waiting_)
        (void)nghttp2_session_resume_data(session->http2_.get(), id);
    waiting_ = false;
    session->wake();
}

std::ptrdiff_t ServerStream::read(std::uint8_t* to, std::size_t size, std::uint32_t* flags) {
    std::size_t filled = 0;
    while (filled < size && !queue_.empty()) {
        const std::string_view rest = std::string_view(queue_.front()).substr(sent_, size - filled);
        std::copy(rest.begin(), rest.end(), to + filled);
        filled += rest.size();
        sent_ += rest.size();
        if (sent_ < queue_.front().size())
            break;
        session->outgoing_ -= sent_;
        queued_ -= sent_;
        sent_ = 0;
        queue_.pop_front();
    }
    if (filled > 0)
        session->renew_control_limit(); // the client will send WINDOW_UPDATE
    if (queue_.empty() && ended_) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailer();
    } else if (filled == 0) {
        waiting_ = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<std::ptrdiff_t>(filled);
}

void ServerStream::submit_trailer() {
    const std::string code = std::to_string(static_cast<unsigned>(ended_->code));
    const std::string message = encode_message(ended_->message);
    Headers headers{{"grpc-status", code}};
    if (!message.empty())
        headers.add("grpc-message", message);
    (void)nghttp2_submit_trailer(session->http2_.get(), id, headers.data(), headers.size());
}

} // namespace gpuhost::rpc
