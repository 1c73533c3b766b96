// SPDX-License-Identifier: Apache-2.0
// Owning handles for C objects.
#pragma once

#include <memory>
#include <utility>

#include <unistd.h>

namespace gpuhost::base {

template <auto Fn>
struct CDelete {
    template <class T>
    void operator()(T* p) const noexcept {
        (void)Fn(p); // NOLINT(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory): free, for some
    }
};

/// A C object that Fn frees; as large as a pointer. `using BusPtr = CHandle<sd_bus,
/// sd_bus_flush_close_unref>;`
template <class T, auto Fn>
using CHandle = std::unique_ptr<T, CDelete<Fn>>;

/// Passes a handle as the out-parameter of a C function: `sd_bus_open_system(OutPtr(bus))`.
template <class Handle>
class OutPtr {
  public:
    explicit OutPtr(Handle& handle) : handle_(handle) {}
    ~OutPtr() { handle_.reset(raw_); }
    OutPtr(const OutPtr&) = delete;
    OutPtr& operator=(const OutPtr&) = delete;
    operator typename Handle::pointer *() { return &raw_; }

  private:
    Handle& handle_;
    typename Handle::pointer raw_ = nullptr;
};

/// Owns a file descriptor and closes it once. Does not repeat close(2) after EINTR: Linux has closed the
/// descriptor then.
class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        reset(std::exchange(other.fd_, -1));
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
    void reset(int fd = -1) {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = fd;
    }

  private:
    int fd_ = -1;
};

} // namespace gpuhost::base
