// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/connection.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace gpuhost::rpc {

namespace {

/// One thread moves all bytes, and nobody keeps a view over its next call.
std::array<char, 64U << 10U>& shared_buffer() {
    static std::array<char, 64U << 10U> buffer;
    return buffer;
}

bool is_temporary(int error) {
    return error == EAGAIN || error == EINTR;
}

} // namespace

std::optional<std::string_view> Connection::read() {
    auto& buffer = shared_buffer();
    const ssize_t n = ::read(get(), buffer.data(), buffer.size());
    if (n > 0)
        return std::string_view(buffer.data(), static_cast<std::size_t>(n));
    if (n < 0 && is_temporary(errno))
        return std::string_view();
    return std::nullopt;
}

base::Result<void> Connection::write(std::uint64_t now_us, const std::function<void(std::string&)>& more) {
    for (;;) {
        if (written_ == output_.size()) {
            output_.clear();
            written_ = 0;
            more(output_);
        }
        if (output_.empty())
            break;
        const ssize_t n = ::send(get(), output_.data() + written_, output_.size() - written_, MSG_NOSIGNAL);
        if (n < 0 && is_temporary(errno)) {
            if (!stalled_us_)
                stalled_us_ = now_us;
            return {};
        }
        if (n < 0)
            return base::fail_errno("sending", errno);
        written_ += static_cast<std::size_t>(n);
        stalled_us_.reset();
    }
    stalled_us_.reset();
    std::string().swap(output_); // idle connections need no memory
    return {};
}

} // namespace gpuhost::rpc
