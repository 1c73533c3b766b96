// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/service.hpp"

#include "daemon/rpc/server_stream.hpp"

#include <algorithm>

namespace gpuhost::rpc {

struct Call::Handle {
    explicit Handle(std::weak_ptr<ServerStream> of) : stream(std::move(of)) {}
    ~Handle() {
        if (const auto open = stream.lock())
            open->end({Code::Internal, "the call ended without an answer"});
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    std::weak_ptr<ServerStream> stream;
};

Call::Call(const std::shared_ptr<ServerStream>& stream) : handle_(std::make_shared<Handle>(stream)) {}

void Call::send(std::string_view message) const {
    if (const auto stream = handle_->stream.lock())
        stream->send(message);
}

void Call::end(const base::Result<void>& result) const {
    if (const auto stream = handle_->stream.lock())
        stream->end(result ? Status{} : status_of(result.error()));
}

void Call::answer(const base::Result<std::string>& answer) const {
    if (!answer)
        return end(base::fail(answer.error()));
    send(*answer);
    end();
}

bool Call::open() const {
    const auto stream = handle_->stream.lock();
    return stream && stream->open();
}

void Call::on_cancel(std::function<void()> function) const {
    if (const auto stream = handle_->stream.lock(); stream && stream->open())
        stream->on_cancel = std::move(function);
}

void Watchers::send(std::string_view message) {
    for (const Call& call : calls_)
        call.send(message);
    (void)count();
}

void Watchers::end(const base::Result<void>& result) {
    for (const Call& call : calls_)
        call.end(result);
    calls_.clear();
}

std::size_t Watchers::count() {
    calls_.erase(std::remove_if(calls_.begin(), calls_.end(), [](const Call& call) { return !call.open(); }),
                 calls_.end());
    return calls_.size();
}

} // namespace gpuhost::rpc
