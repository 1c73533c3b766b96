// SPDX-License-Identifier: Apache-2.0
// Files seen from one directory: "/" on a host, a mounted image in rescue, a temporary tree in tests.
//
// Paths are absolute as the host would see them ("/sys/module/nvidia/version"); symbolic links are resolved
// inside the root, so nothing escapes it. Writers leave the old or the new content at any power cut, never a
// half.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::base {

class Root {
  public:
    static constexpr std::size_t default_limit =
        1U << 20; ///< bytes; larger files need a limit named by the caller

    [[nodiscard]] static Result<Root> open(const std::string& directory);
    /// A directory that somebody else opened; `name` is for messages.
    [[nodiscard]] static Root of(UniqueFd directory, std::string name) {
        return Root(std::move(directory), std::move(name));
    }

    /// The directory as the caller's own path, for programs that take one ("/" or "/tmp/tree").
    [[nodiscard]] const std::string& directory() const { return directory_; }
    [[nodiscard]] bool is_host() const { return directory_ == "/"; }
    /// `path` as a path outside of this root, for argv of other programs. Does not resolve links.
    [[nodiscard]] std::string host_path(std::string_view path) const;

    /// flags as open(2); O_CLOEXEC is always added.
    [[nodiscard]] Result<UniqueFd> open_file(std::string_view path, int flags, mode_t mode = 0) const;
    /// More than `limit` bytes is BadContent.
    [[nodiscard]] Result<std::string> read(std::string_view path, std::size_t limit = default_limit) const;
    /// read() without the final newline: what sysfs and procfs need.
    [[nodiscard]] Result<std::string> read_line(std::string_view path) const;
    [[nodiscard]] Result<std::vector<std::string>>
    list(std::string_view path) const; ///< sorted; no "." and ".."
    [[nodiscard]] Result<std::string> read_link(std::string_view path) const;
    [[nodiscard]] Result<struct stat> stat(std::string_view path) const;  ///< follows links
    [[nodiscard]] Result<struct stat> lstat(std::string_view path) const; ///< does not follow the last one
    [[nodiscard]] bool exists(std::string_view path) const;               ///< without following the last link
    [[nodiscard]] Result<std::uint64_t> free_bytes(std::string_view path) const; ///< for unprivileged users

    /// Temporary file, fsync, rename, fsync of the directory.
    [[nodiscard]] Result<void> write_atomic(std::string_view path, std::string_view content,
                                            mode_t mode = 0644) const;
    /// Replaces whatever link or file stands there, atomically, and syncs the directory.
    [[nodiscard]] Result<void> symlink_atomic(std::string_view target, std::string_view path) const;
    [[nodiscard]] Result<void> make_directories(std::string_view path, mode_t mode = 0755) const;
    [[nodiscard]] Result<void> make_node(std::string_view path, mode_t mode, dev_t device) const;
    [[nodiscard]] Result<void> rename(std::string_view from,
                                      std::string_view to) const; ///< syncs both directories
    /// Two that exist swap places, with no moment in between; syncs both directories.
    [[nodiscard]] Result<void> exchange(std::string_view a, std::string_view b) const;
    [[nodiscard]] Result<void>
    remove(std::string_view path) const; ///< file, link or empty directory; absent is fine
    [[nodiscard]] Result<void>
    remove_tree(std::string_view path) const; ///< absent is fine; never follows links
    /// remove_tree() in portions of `entries`, for who must not be away for long. True once nothing is left.
    [[nodiscard]] Result<bool> remove_some(std::string_view path, std::size_t entries) const;
    [[nodiscard]] Result<void> sync_directory(std::string_view path) const;

  private:
    Root(UniqueFd fd, std::string directory) : fd_(std::move(fd)), directory_(std::move(directory)) {}
    struct Parent {
        UniqueFd directory;
        std::string name;
    };
    [[nodiscard]] Result<void> rename_with(std::string_view from, std::string_view to, unsigned flags) const;
    [[nodiscard]] Result<Parent> parent_of(std::string_view path) const;

    UniqueFd fd_;
    std::string directory_;
};

/// Reads what is left of `fd`, at most `limit` bytes; more is BadContent naming `what`.
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t limit, std::string_view what);
/// At most `most` bytes from `offset` on, fewer where the file ends before.
[[nodiscard]] Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t most,
                                          std::string_view what);
[[nodiscard]] Result<void> write_all(int fd, std::string_view data, std::string_view what);

} // namespace gpuhost::base
