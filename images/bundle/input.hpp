// SPDX-License-Identifier: Apache-2.0
// The bytes of a bundle in order: from one file, from the volumes of a split bundle, or from a pipe.
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
        int fd = -1; ///< not owned
        std::string name;
    };
    /// Accepts regular files, or one pipe or socket. Fails with InvalidArgument for anything else.
    [[nodiscard]] static base::Result<BundleInput> open(std::vector<Part> parts);

    /// Fills `buffer`. Fails with BadContent if the input ends earlier.
    [[nodiscard]] base::Result<void> read(std::span<char> buffer);
    [[nodiscard]] base::Result<std::string> read(std::size_t size);
    /// Skips bytes without examining them. Reads nothing if the input is seekable.
    [[nodiscard]] base::Result<void> skip(std::uint64_t bytes);
    [[nodiscard]] base::Result<bool> at_end();
    [[nodiscard]] bool seekable() const { return seekable_; } ///< true for files
    /// Returns the best number of threads, each with a copy, to read large members: 1 for a pipe or a
    /// rotating disk.
    [[nodiscard]] unsigned readers() const;
    /// The sum of all parts; 0 for a pipe.
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] const std::string& name() const { return parts_.front().name; }
    [[nodiscard]] std::uint64_t position() const { return position_; }

    /// Drops the bytes read so far from the page cache, to leave memory for the host's jobs.
    void forget_read();

  private:
    /// Reads at least one byte, or returns 0 at the end.
    [[nodiscard]] base::Result<std::size_t> read_some(std::span<char> buffer);
    std::vector<Part> parts_;
    std::vector<std::uint64_t> sizes_;
    bool seekable_ = true;
    std::size_t part_ = 0;
    std::uint64_t offset_ = 0;    ///< in that part
    std::uint64_t forgotten_ = 0; ///< in that part; earlier bytes are dropped from the page cache
    std::uint64_t position_ = 0;
    std::uint64_t size_ = 0;
};

} // namespace gpuhost::images
