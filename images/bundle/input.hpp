// SPDX-License-Identifier: Apache-2.0
// Reads the bytes of a bundle in order: from one file, from several files (a bundle that was split into
// volumes), or from a pipe.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::images {

/// Reads files with pread(2) instead of mmap(2): a file that is truncated meanwhile is an error, not a
/// SIGBUS.
class BundleInput {
  public:
    struct Part {
        int fd = -1; ///< not owned; must stay open as long as the BundleInput or a copy of it exists
        std::string name;
    };
    /// Accepts regular files in the order of the volumes, or one pipe or socket. Fails with InvalidArgument
    /// for anything else.
    [[nodiscard]] static base::Result<BundleInput> open(std::vector<Part> parts);

    /// Fills the whole buffer. Fails with BadContent if the input ends earlier.
    [[nodiscard]] base::Result<void> read(std::span<char> buffer);
    [[nodiscard]] base::Result<std::string> read(std::size_t size);
    /// Skips bytes. In files, only the position changes; from a pipe, the bytes are read and discarded. Fails
    /// with BadContent if the input ends earlier.
    [[nodiscard]] base::Result<void> skip(std::uint64_t bytes);
    [[nodiscard]] base::Result<bool> at_end();
    [[nodiscard]] bool seekable() const { return seekable_; } ///< true for files, false for a pipe or socket
    /// Returns how many threads should read large members at the same time, each with its own copy of this
    /// object. Returns 1 for a pipe or a rotating disk.
    [[nodiscard]] unsigned readers() const;
    /// Returns the total bytes of all parts; 0 for a pipe.
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] const std::string& name() const { return parts_.front().name; }
    [[nodiscard]] std::uint64_t position() const { return position_; }

    /// Drops the bytes that were read so far from the page cache, so that a large bundle does not displace
    /// the data of other programs.
    void forget_read();

  private:
    /// Reads at least one byte, or returns 0 at the end.
    [[nodiscard]] base::Result<std::size_t> read_some(std::span<char> buffer);
    std::vector<Part> parts_;
    std::vector<std::uint64_t> sizes_;
    bool seekable_ = true;
    std::size_t part_ = 0;
    std::uint64_t offset_ = 0;    ///< of the next byte in the current part
    std::uint64_t forgotten_ = 0; ///< in the current part: earlier bytes are dropped from the page cache
    std::uint64_t position_ = 0;
    std::uint64_t size_ = 0;
};

} // namespace gpuhost::images
