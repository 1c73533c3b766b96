// SPDX-License-Identifier: Apache-2.0
// Accesses files below one directory: "/" on a host, the mounted system in a rescue, a temporary tree in
// tests.
//
// Paths are absolute as on the host ("/sys/module/nvidia/version"). Symbolic links are resolved inside the
// root, so no path escapes it. After a power cut, a file that write_atomic() wrote has either its old or its
// new content, never a part.
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
    /// Limit of read() and read_line() in bytes. For larger files the caller passes a limit to read().
    static constexpr std::size_t default_limit = 1U << 20;

    [[nodiscard]] static Result<Root> open(const std::string& directory);
    /// Uses a directory that the caller has opened; `name` is its name in messages.
    [[nodiscard]] static Root of(UniqueFd directory, std::string name) {
        return Root(std::move(directory), std::move(name));
    }

    /// Returns the root's own path ("/" or "/tmp/tree"), for programs that need a directory as an argument.
    [[nodiscard]] const std::string& directory() const { return directory_; }
    [[nodiscard]] bool is_host() const { return directory_ == "/"; }
    /// Returns the path at which another program finds the file `path` of this root. Does not resolve links.
    [[nodiscard]] std::string host_path(std::string_view path) const;

    /// Opens a file. `flags` and `mode` are those of open(2); O_CLOEXEC is always added.
    [[nodiscard]] Result<UniqueFd> open_file(std::string_view path, int flags, mode_t mode = 0) const;
    /// Reads a file. Fails with BadContent if it is larger than `limit` bytes.
    [[nodiscard]] Result<std::string> read(std::string_view path, std::size_t limit = default_limit) const;
    /// Reads like read(), without the final newline; for sysfs and procfs.
    [[nodiscard]] Result<std::string> read_line(std::string_view path) const;
    /// Lists the names in a directory, sorted, without "." and "..".
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const;
    [[nodiscard]] Result<std::string> read_link(std::string_view path) const;
    [[nodiscard]] Result<struct stat> stat(std::string_view path) const;  ///< follows links
    [[nodiscard]] Result<struct stat> lstat(std::string_view path) const; ///< does not follow the last one
    [[nodiscard]] bool exists(std::string_view path) const;               ///< without following the last link
    /// Returns `path`, or its nearest parent that exists.
    [[nodiscard]] std::string_view existing_part(std::string_view path) const;
    /// Returns the bytes that unprivileged users can still write to the file system of `path`.
    [[nodiscard]] Result<std::uint64_t> free_bytes(std::string_view path) const;

    /// Writes a temporary file, syncs it, renames it to `path`, and syncs the directory.
    [[nodiscard]] Result<void> write_atomic(std::string_view path, std::string_view content,
                                            mode_t mode = 0644) const;
    /// Creates a symbolic link, or replaces an existing link or file atomically. Syncs the directory.
    [[nodiscard]] Result<void> symlink_atomic(std::string_view target, std::string_view path) const;
    [[nodiscard]] Result<void> make_directories(std::string_view path, mode_t mode = 0755) const;
    [[nodiscard]] Result<void> make_node(std::string_view path, mode_t mode, dev_t device) const;
    /// Renames a file or directory; syncs both directories.
    [[nodiscard]] Result<void> rename(std::string_view from, std::string_view to) const;
    /// Exchanges two existing paths atomically; syncs both directories.
    [[nodiscard]] Result<void> exchange(std::string_view a, std::string_view b) const;
    /// Removes a file, a link or an empty directory. Succeeds if it does not exist.
    [[nodiscard]] Result<void> remove(std::string_view path) const;
    /// Removes a directory tree without following links. Succeeds if it does not exist.
    [[nodiscard]] Result<void> remove_tree(std::string_view path) const;
    /// Removes at most `entries` entries of a directory tree, for callers that must not block for long.
    /// Returns true if the whole tree is removed.
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

/// Reads the rest of a file, at most `limit` bytes. Fails with BadContent, naming `what`, if there is more.
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t limit, std::string_view what);
/// Reads at most `most` bytes from `offset` on. Returns fewer only at the end of the file.
[[nodiscard]] Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t most,
                                          std::string_view what);
[[nodiscard]] Result<void> write_all(int fd, std::string_view data, std::string_view what);

} // namespace gpuhost::base
