// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <cstddef>
#include <string_view>

namespace gpuhost::base {

/// Maps a whole regular file read-only. Fails with BadContent if it is larger than 1 GiB or not a regular
/// file.
class MappedFile {
  public:
    [[nodiscard]] static Result<MappedFile> open(int fd, std::string_view what);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();
    [[nodiscard]] std::string_view view() const { return {data_, size_}; }

  private:
    MappedFile(const char* data, std::size_t size) : data_(data), size_(size) {}
    const char* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace gpuhost::base
