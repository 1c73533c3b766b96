// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/input.hpp"

#include "images/bundle/block_device.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::uint64_t forget_bytes = 8U << 20U;
constexpr unsigned most_readers = 4; ///< threads; the other CPUs stay free for the host's work

} // namespace

Result<BundleInput> BundleInput::open(std::vector<Part> parts) {
    BundleInput input;
    for (const Part& part : parts) {
        struct stat st {};
        if (::fstat(part.fd, &st) < 0)
            return base::fail_errno(part.name, errno);
        const bool stream = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
        if (!S_ISREG(st.st_mode) && !(stream && parts.size() == 1))
            return base::fail(Errc::InvalidArgument,
                              part.name + ": must be a regular file, or a pipe as the only input");
        input.seekable_ = !stream;
        input.sizes_.push_back(stream ? 0 : static_cast<std::uint64_t>(st.st_size));
        input.size_ += input.sizes_.back();
    }
    if (parts.empty())
        return base::fail(Errc::InvalidArgument, "no input file");
    input.parts_ = std::move(parts);
    return input;
}

Result<std::size_t> BundleInput::read_some(std::span<char> buffer) {
    while (part_ < parts_.size()) {
        const Part& part = parts_[part_];
        const ssize_t n = seekable_
                              ? ::pread(part.fd, buffer.data(), buffer.size(), static_cast<off_t>(offset_))
                              : ::read(part.fd, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) { // the pipe was made non-blocking by another process
            struct pollfd wait {
                part.fd, POLLIN, 0
            };
            (void)::poll(&wait, 1, -1);
            continue;
        }
        if (n < 0)
            return base::fail(base::errno_error(part.name, errno)
                                  .with_hint("Copy the file again, from or to another medium; the import "
                                             "continues where it stopped."));
        if (n > 0) {
            offset_ += static_cast<std::uint64_t>(n);
            position_ += static_cast<std::uint64_t>(n);
            if (offset_ >= forgotten_ + forget_bytes)
                forget_read();
            return static_cast<std::size_t>(n);
        }
        if (part_ + 1 == parts_.size())
            break;
        forget_read();
        ++part_;
        offset_ = forgotten_ = 0;
    }
    return std::size_t{0};
}

Result<void> BundleInput::read(std::span<char> buffer) {
    while (!buffer.empty()) {
        GPUHOST_TRY(n, read_some(buffer));
        if (n == 0)
            return base::fail(Errc::BadContent,
                              parts_[part_].name + ": ends at byte " + std::to_string(position_) +
                                  ", before the end of the bundle",
                              "Copy the file again if it is incomplete, or pass the missing volume.");
        buffer = buffer.subspan(n);
    }
    return {};
}

Result<std::string> BundleInput::read(std::size_t size) {
    std::string bytes(size, '\0');
    GPUHOST_CHECK(read(std::span(bytes)));
    return bytes;
}

Result<void> BundleInput::skip(std::uint64_t bytes) {
    if (!seekable_) {
        std::vector<char> buffer(std::size_t{64} << 10U);
        for (; bytes > 0;) {
            const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, buffer.size()));
            GPUHOST_CHECK(read(std::span(buffer).first(n)));
            bytes -= n;
        }
        return {};
    }
    // another thread's copy may be reading the skipped bytes, so they stay in the page cache
    const bool far = bytes >= forget_bytes;
    if (far)
        forget_read();
    while (bytes > 0 && part_ < parts_.size()) {
        const std::uint64_t left = sizes_[part_] - std::min(sizes_[part_], offset_);
        const std::uint64_t n = std::min(left, bytes);
        offset_ += n;
        position_ += n;
        bytes -= n;
        if (bytes == 0 || part_ + 1 == parts_.size())
            break;
        ++part_;
        offset_ = forgotten_ = 0;
    }
    if (far)
        forgotten_ = offset_;
    if (bytes == 0)
        return {};
    char none = 0;
    return read(std::span(&none, 1)); // always fails, with the position where the input ends
}

Result<bool> BundleInput::at_end() {
    char byte = 0;
    GPUHOST_TRY(n, read_some(std::span(&byte, 1)));
    return n == 0;
}

unsigned BundleInput::readers() const {
    if (!seekable_ ||
        std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return seeks_slowly(part.fd); }))
        return 1;
    return std::clamp(std::thread::hardware_concurrency(), 1U, most_readers);
}

void BundleInput::forget_read() {
    if (seekable_ && offset_ > forgotten_) // a length of 0 would mean "to the end of the file"
        (void)::posix_fadvise(parts_[part_].fd, static_cast<off_t>(forgotten_),
                              static_cast<off_t>(offset_ - forgotten_), POSIX_FADV_DONTNEED);
    forgotten_ = offset_;
}

} // namespace gpuhost::images
