// SPDX-License-Identifier: Apache-2.0
#include "images/peers/transfer.hpp"

#include <cerrno>

#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::chrono::milliseconds tick{200};

} // namespace

Result<void> Transfer::run(int pipe) {
    for (;;) {
        GPUHOST_TRY(open, write(pipe));
        if (!open || (out_.empty() && fetch_.ended()))
            return {};
        // If out_ has bytes, the import is slow, not the peers.
        if (watchdog_.is_too_slow(clock_(), out_.empty()))
            return base::fail(Errc::Timeout, "the peers are too slow: other operations would wait for hours",
                              "Fetch the bundle again; it continues with the data received so far.");
        GPUHOST_CHECK(fetch_.check());
        while (const auto part = fetch_.next(clock_()))
            in_flight_.emplace(client_.start(peers_.request_of(*part)), *part);
        for (PeerAnswer& answer : client_.wait(tick, out_.empty() ? -1 : pipe))
            take(answer);
    }
}

/// Writes bytes of the stream until the pipe is full or no more bytes have arrived. Returns false if the
/// import has closed the pipe.
Result<bool> Transfer::write(int pipe) {
    for (;;) {
        if (out_.empty()) {
            out_ = fetch_.take();
            written_ = 0;
        }
        if (out_.empty())
            return true;
        const ssize_t n = ::write(pipe, out_.data() + written_, out_.size() - written_);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n < 0 && errno == EPIPE)
            return false;
        if (n < 0)
            return base::fail_errno("the pipe to the import", errno);
        watchdog_.received(static_cast<std::uint64_t>(n));
        written_ += static_cast<std::size_t>(n);
        if (written_ == out_.size())
            out_.clear();
    }
}

void Transfer::take(PeerAnswer& answer) {
    const auto asked = in_flight_.extract(answer.id);
    if (asked.empty())
        return; // the answer belongs to the transfer of an earlier bundle
    const BlobFetch::Part& part = asked.mapped();
    if (answer.problem.empty())
        fetch_.came(part, std::move(answer.body));
    else if (answer.status == 404)
        fetch_.lacks(part);
    else
        fetch_.failed(part, answer.problem, clock_());
}

} // namespace gpuhost::images
