// SPDX-License-Identifier: Apache-2.0
// The root of a container that does not run yet, seen by a process with more rights than the container will have.
//
// Who made the image may have put anything anywhere, and who shares one of its volumes may change that at any moment. So
// each path is resolved by openat2(2) inside the root, without magic links, and what it led to is used through the
// descriptor, never by its name again. Only the container's own file system is written to and read: what is mounted in it
// belongs to somebody else, be it the host or another container, and a file of the kernel's may be changed by reading
// it. Nothing is synced: a container's root need not outlive a power cut.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

class ContainerRoot {
  public:
    static constexpr std::size_t max_file = 1U << 20;  ///< bytes of a file that is read
    static constexpr std::size_t max_names = 1U << 16; ///< of a directory that is listed

    /// `path` is the runtime's word, and so is that the container's root is to be `read_only`. Mounted so already, it is,
    /// for this process alone, writable if the kernel lets it; otherwise a read-only mount is somebody else's. The host's
    /// own "/" is refused.
    [[nodiscard]] static base::Result<ContainerRoot> open(const std::string& path, bool read_only = false);

    [[nodiscard]] const std::string& path() const { return path_; }

    /// Without the right to read, O_PATH: what `path` leads to, in a mount or not.
    [[nodiscard]] base::Result<base::UniqueFd> find(std::string_view path) const;
    // Refused: something is mounted there.
    /// A regular file and nothing else, to be read: no pipe that never has an end, no device.
    [[nodiscard]] base::Result<base::UniqueFd> open_file(std::string_view path) const;
    [[nodiscard]] base::Result<std::string> read(std::string_view path) const;
    [[nodiscard]] base::Result<std::vector<std::string>> list(std::string_view path) const; ///< sorted
    [[nodiscard]] bool exists(std::string_view path) const { return find(path).has_value(); }

    // Directories that are missing are made. Refused: the place is in a mount, or read-only. What is already so is left
    // alone.
    [[nodiscard]] base::Result<void> check_own(std::string_view path) const; ///< of what somebody else writes
    [[nodiscard]] base::Result<void> write(std::string_view path, std::string_view content) const;
    [[nodiscard]] base::Result<void> symlink(std::string_view target, std::string_view path) const;
    [[nodiscard]] base::Result<void> remove(std::string_view path) const; ///< absent is fine

  private:
    ContainerRoot(base::UniqueFd fd, base::UniqueFd writable, std::string path)
        : fd_(std::move(fd)), writable_(std::move(writable)), path_(std::move(path)) {}
    struct Place {
        base::UniqueFd directory;
        std::string name;
    };
    [[nodiscard]] base::Result<Place> own_place(std::string_view path) const;

    /// Where is written.
    [[nodiscard]] int own() const { return writable_ ? writable_.get() : fd_.get(); }

    base::UniqueFd fd_;       ///< in the runtime's own mount, on which others can be mounted
    base::UniqueFd writable_; ///< in a clone of a mount that is read-only; none otherwise
    std::string path_;
};

} // namespace gpuhost::runtime
