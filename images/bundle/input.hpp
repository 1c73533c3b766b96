// SPDX-License-Identifier: Apache-2.0
// The bytes of a bundle in order: one file, the volumes that it was split into, or a pipe.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::images {

/// Files are read with pread(2), never mapped: one that is cut off meanwhile is an error, not a SIGBUS.
class BundleInput {
  public:
    struct Part {
        int fd = -1; ///< not owned
        std::string name;
    };
    /// Regular files, or one pipe or socket. InvalidArgument for anything else.
    [[nodiscard]] static base::Result<BundleInput> open(std::vector<Part> parts);

    /// Fills `buffer`. BadContent if the bytes end before.
    [[nodiscard]] base::Result<void> read(std::span<char> buffer);
    [[nodiscard]] base::Result<std::string> read(std::size_t size);
    /// Goes on without a look at the bytes; costs nothing in files.
    [[nodiscard]] base::Result<void> skip(std::uint64_t bytes);
    [[nodiscard]] base::Result<bool> at_end();
    [[nodiscard]] bool seekable() const { return seekable_; } ///< files, that is
    /// How many threads, each with a copy, are best to read large members: one of a pipe or a disk that turns.
    [[nodiscard]] unsigned readers() const;
    /// Of all parts; 0 for a pipe.
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] const std::string& name() const { return parts_.front().name; }
    [[nodiscard]] std::uint64_t position() const { return position_; }

    /// Tells the kernel that what was read is not needed again, so that it keeps what the host's jobs read.
    void forget_read();

  private:
    /// At least one byte, or 0 at the end.
    [[nodiscard]] base::Result<std::size_t> read_some(std::span<char> buffer);
    std::vector<Part> parts_;
    std::vector<std::uint64_t> sizes_;
    bool seekable_ = true;
    std::size_t part_ = 0;
    std::uint64_t offset_ = 0;    ///< in that part
    std::uint64_t forgotten_ = 0; ///< up to where in that part
    std::uint64_t position_ = 0;
    std::uint64_t size_ = 0;
};

} // namespace gpuhost::images
