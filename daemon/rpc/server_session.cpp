// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/server_session.hpp"

#include "daemon/rpc/http2.hpp"
#include "daemon/rpc/server_callbacks.hpp"
#include "daemon/rpc/server_stream.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::rpc {

using base::Result;

namespace {

constexpr std::uint64_t interval_us = 10'000'000; ///< of the limits of frames

/// Returns the method that a path "/SERVICE/METHOD" names, or why there is none.
tl::expected<const Method*, Status> find_method(const std::vector<Service>& services, std::string_view path) {
    const std::size_t slash = path.rfind('/');
    if (path.substr(0, 1) != "/" || slash == 0)
        return tl::unexpected(Status{Code::Unimplemented, "malformed method name"});
    const std::string_view name = path.substr(1, slash - 1);
    const std::string_view method = path.substr(slash + 1);
    const auto service = std::find_if(services.begin(), services.end(),
                                      [name](const Service& candidate) { return candidate.name == name; });
    if (service == services.end())
        return tl::unexpected(Status{Code::Unimplemented, "unknown service " + std::string(name)});
    const auto found = service->methods.find(method);
    if (found == service->methods.end())
        return tl::unexpected(Status{Code::Unimplemented, "unknown method " + std::string(method) +
                                                              " for service " + std::string(name)});
    return &found->second;
}

} // namespace

void ServerSession::Http2Delete::operator()(nghttp2_session* session) const noexcept {
    nghttp2_session_del(session);
}

Result<std::unique_ptr<ServerSession>> ServerSession::make(const std::vector<Service>& services,
                                                           const Limits& limits,
                                                           std::function<void()> on_output) {
    std::unique_ptr<ServerSession> made(new ServerSession(services, limits, std::move(on_output)));
    const Http2Callbacks callbacks(make_server_callbacks());
    nghttp2_session* session = nullptr;
    int code = callbacks ? nghttp2_session_server_new(&session, callbacks.get(), made.get())
                         : static_cast<int>(NGHTTP2_ERR_NOMEM);
    made->http2_.reset(session);
    const std::array<nghttp2_settings_entry, 2> settings{{
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<std::uint32_t>(limits.streams)},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.headers)},
    }};
    if (code == 0)
        code = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    if (code != 0)
        return fail_http2("HTTP/2", code);
    return made;
}

ServerSession::ServerSession(const std::vector<Service>& services, const Limits& limits,
                             std::function<void()> on_output)
    : services_(services), limits_(limits), on_output_(std::move(on_output)),
      resets_(limits.resets, interval_us) {
    renew_control_limit();
}

ServerSession::~ServerSession() {
    for (const auto& [id, stream] : streams_)
        stream->session = nullptr;
}

void ServerSession::receive(std::string_view bytes, std::uint64_t now_us) {
    now_us_ = now_us;
    if (began_us_ == 0)
        began_us_ = now_us;
    receiving_ = true;
    if (const auto received = rpc::receive(http2_.get(), bytes); !received && failure_.empty())
        failure_ = received.error().message;
    dispatch();
    receiving_ = false;
}

void ServerSession::output(std::string& bytes) {
    if (const auto sent = rpc::output(http2_.get(), bytes); !sent && failure_.empty())
        failure_ = sent.error().message;
}

void ServerSession::shut_down() {
    const auto last = nghttp2_session_get_last_proc_stream_id(http2_.get());
    (void)nghttp2_submit_goaway(http2_.get(), NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
}

void ServerSession::cancel_calls() {
    for (const auto& [id, stream] : std::exchange(streams_, {})) {
        if (stream->open() && stream->complete)
            cancelled_.push_back(stream);
        stream->session = nullptr;
    }
    notify_cancelled();
}

bool ServerSession::done() const {
    return nghttp2_session_want_read(http2_.get()) == 0 && nghttp2_session_want_write(http2_.get()) == 0;
}

std::optional<std::uint64_t> ServerSession::incomplete_since() const {
    std::optional<std::uint64_t> since;
    if (!settled_)
        since = began_us_;
    for (const auto& [id, stream] : streams_)
        if (!stream->complete && (!since || stream->began_us < *since))
            since = stream->began_us;
    return since;
}

ServerStream* ServerSession::find(std::int32_t id) const {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second.get();
}

void ServerSession::begin_request(std::int32_t id) {
    streams_.emplace(id, std::make_shared<ServerStream>(*this, id, limits_.message, now_us_));
}

void ServerSession::check_head(ServerStream& stream) {
    if (const unsigned status = stream.head.http_status(); status != 200)
        return stream.refuse(status);
    const auto method = find_method(services_, stream.head.path);
    if (!method)
        return stream.end(method.error());
    stream.method = *method;
}

void ServerSession::add_data(ServerStream& stream, std::string_view bytes) {
    if (!stream.open())
        return; // already refused
    const std::size_t before = stream.request.size();
    Status status = stream.request.add(bytes);
    incoming_ += stream.request.size() - before;
    if (status.ok() && incoming_ > limits_.incoming)
        status = {Code::ResourceExhausted, "too many bytes in incomplete requests"};
    if (status.ok())
        return;
    incoming_ -= stream.request.size();
    stream.request.clear();
    stream.end(std::move(status));
}

void ServerSession::end_request(ServerStream& stream) {
    stream.complete = true;
    if (!stream.open())
        return;
    if (stream.request.size() == 0)
        return stream.end({Code::Unimplemented, "no message in a call that has one"});
    if (!stream.request.complete())
        return stream.end({Code::Internal, "the message is shorter than its prefix says"});
    renew_control_limit();
    ready_.push_back(streams_.at(stream.id));
}

void ServerSession::close_stream(std::int32_t id) {
    const auto found = streams_.find(id);
    if (found == streams_.end())
        return;
    const std::shared_ptr<ServerStream> stream = found->second;
    streams_.erase(found);
    incoming_ -= stream->request.size();
    stream->request.clear();
    outgoing_ -= stream->queued();
    if (stream->open() && stream->complete)
        cancelled_.push_back(stream);
    stream->session = nullptr;
}

void ServerSession::count_frame(unsigned type, std::size_t length) {
    if (type == NGHTTP2_RST_STREAM && !resets_.admit(now_us_))
        return fail("too many cancelled calls");
    const bool has_content = type == NGHTTP2_HEADERS || (type == NGHTTP2_DATA && length > 0);
    if (!has_content && !control_frames_->admit(now_us_))
        fail("too many frames without content");
}

/// Forgets counted frames, because a request or a part of an answer was transferred.
void ServerSession::renew_control_limit() {
    control_frames_.emplace(limits_.control_frames, interval_us);
}

void ServerSession::count_outgoing(std::size_t added) {
    outgoing_ += added;
    if (outgoing_ > limits_.outgoing)
        fail("the client does not read its answers");
}

void ServerSession::dispatch() {
    for (const auto& stream : std::exchange(ready_, {})) {
        if (!stream->open() || !failure_.empty())
            continue; // the client has cancelled it meanwhile
        (*stream->method)(stream->request.message(), Call(stream));
        if (stream->session)
            incoming_ -= stream->request.size();
        stream->request.clear();
    }
    notify_cancelled();
}

void ServerSession::notify_cancelled() {
    for (const auto& stream : std::exchange(cancelled_, {}))
        if (const auto function = std::exchange(stream->on_cancel, nullptr))
            function();
}

void ServerSession::fail(const std::string& why) {
    if (!failure_.empty())
        return;
    failure_ = why;
    (void)nghttp2_session_terminate_session(http2_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
    wake();
}

void ServerSession::wake() {
    if (!receiving_ && on_output_)
        on_output_();
}

} // namespace gpuhost::rpc
