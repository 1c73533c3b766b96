// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace gpuhost::base {

/// A page-aligned buffer for large parts of files. A large block of malloc begins 16 bytes after a page
/// boundary. On an AMD processor, read(2) of 2 GiB into such a block took 2.2 s, into an aligned one 0.4 s.
class PageBuffer {
  public:
    explicit PageBuffer(std::size_t size) : bytes_(new (alignment) char[size]), size_(size) {}

    [[nodiscard]] std::span<char> span() const { return {bytes_.get(), size_}; }
    [[nodiscard]] char* data() const { return bytes_.get(); }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    static constexpr std::align_val_t alignment{4096};
    struct Free {
        void operator()(char* bytes) const noexcept { ::operator delete[](bytes, alignment); }
    };

    std::unique_ptr<char[], Free> bytes_; // NOLINT(modernize-avoid-c-arrays)
    std::size_t size_;
};

} // namespace gpuhost::base
