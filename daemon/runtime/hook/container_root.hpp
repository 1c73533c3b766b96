// SPDX-License-Identifier: Apache-2.0
// The root directory of a container before the container runs. The calling process has more rights than the
// container will have.
//
// The files of an image are untrusted, and other containers may change a shared volume at any time. Each path
// is therefore resolved by openat2(2) inside the root, without magic links. The result is used through its
// descriptor, never by name again.
//
// Only the container's own file system is read and written. A mounted file system belongs to the host or to
// another container, and reading a file of the kernel may change it. Nothing is synced: a container's root
// need not survive a power cut.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

class ContainerRoot {
  public:
    static constexpr std::size_t max_file = 1U << 20;  ///< bytes of a file to read
    static constexpr std::size_t max_names = 1U << 16; ///< entries of a directory to list

    /// Opens the root. `path` and `read_only` are from the runtime. If `read_only` is true and the root is
    /// already mounted read-only, it becomes writable for this process alone, if the kernel permits it. All
    /// other read-only mounts stay read-only. Fails with InvalidArgument for the host's own "/".
    [[nodiscard]] static base::Result<ContainerRoot> open(const std::string& path, bool read_only = false);

    [[nodiscard]] const std::string& path() const { return path_; }

    /// Returns an O_PATH descriptor, which can't read, for the file at `path`; links are followed. The file
    /// may be on a mounted file system.
    [[nodiscard]] base::Result<base::UniqueFd> find(std::string_view path) const;
    // The following functions fail with Refused if the path is on a mounted file system.
    /// Opens a regular file for reading, but never a pipe (which could block) or a device.
    [[nodiscard]] base::Result<base::UniqueFd> open_file(std::string_view path) const;
    [[nodiscard]] base::Result<std::string> read(std::string_view path) const;
    [[nodiscard]] base::Result<std::vector<std::string>> list(std::string_view path) const; ///< sorted
    [[nodiscard]] bool exists(std::string_view path) const { return find(path).has_value(); }

    // The following functions create missing directories. They fail with Refused if the path is on a mounted
    // or read-only file system. If the content is already correct, they change nothing.
    /// Checks a path that another program will write.
    [[nodiscard]] base::Result<void> check_own(std::string_view path) const;
    [[nodiscard]] base::Result<void> write(std::string_view path, std::string_view content) const;
    [[nodiscard]] base::Result<void> symlink(std::string_view target, std::string_view path) const;
    [[nodiscard]] base::Result<void> remove(std::string_view path) const; ///< succeeds if absent

  private:
    ContainerRoot(base::UniqueFd fd, base::UniqueFd writable, std::string path)
        : fd_(std::move(fd)), writable_(std::move(writable)), path_(std::move(path)) {}
    struct Place {
        base::UniqueFd directory;
        std::string name;
    };
    [[nodiscard]] base::Result<Place> own_place(std::string_view path) const;

    /// Returns the root for writes.
    [[nodiscard]] int own() const { return writable_ ? writable_.get() : fd_.get(); }

    base::UniqueFd fd_;       ///< the root in the runtime's mount; other file systems may be mounted in it
    base::UniqueFd writable_; ///< the root in a writable clone of a read-only mount; else empty
    std::string path_;
};

} // namespace gpuhost::runtime
