// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/root.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <limits>
#include <memory>
#include <utility>

#include <dirent.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuhost::base {
namespace {

using DirPtr = CHandle<DIR, ::closedir>;

std::string_view relative(std::string_view path) {
    while (!path.empty() && path.front() == '/')
        path.remove_prefix(1);
    return path.empty() ? std::string_view(".") : path;
}

int open_in_root(int root, const std::string& path, int flags, mode_t mode) {
    open_how how{};
    how.flags = static_cast<__u64>(static_cast<unsigned>(flags));
    how.mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? mode : 0;
    how.resolve = RESOLVE_IN_ROOT;
    int fd = -1;
    do // EAGAIN: a rename raced with the lookup, see openat2(2)
        fd = static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
    while (fd < 0 && errno == EAGAIN);
    return fd;
}

Result<void> fsync_fd(int fd, std::string_view what) {
    if (::fsync(fd) < 0)
        return fail_errno(what, errno);
    return {};
}

/// Returns a name for a temporary file that no reader mistakes for the file itself. The name is random. It
/// therefore differs from the names that other writers use, and from the names of files that a power cut
/// left.
std::string temporary_name(std::string_view name) {
    std::uint64_t number = 0;
    (void)!::getrandom(&number, sizeof number, 0); // can't fail for this few bytes
    return "." + std::string(name) + "." + std::to_string(number) + ".tmp";
}

constexpr unsigned deepest = 64; ///< levels of directories; each one needs two descriptors

/// Removes at most `budget` children of a directory, recursively, and subtracts their number. Returns false
/// if some remain.
Result<bool> remove_children(int directory, const std::string& what, std::size_t& budget, unsigned depth) {
    if (depth > deepest)
        return fail(Errc::BadContent, what + ": nested too deeply");
    UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!copy)
        return fail_errno(what, errno);
    DirPtr stream(::fdopendir(copy.get()));
    if (!stream)
        return fail_errno(what, errno);
    (void)copy.release();
    while (const dirent* entry = ::readdir(stream.get())) {
        const std::string name = entry->d_name;
        if (name == "." || name == "..")
            continue;
        if (budget == 0)
            return false;
        --budget;
        if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT)
            continue;
        if (errno != EISDIR && errno != EPERM)
            return fail_errno(what + "/" + name, errno);
        UniqueFd child(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!child)
            return fail_errno(what + "/" + name, errno);
        GPUHOST_TRY(emptied, remove_children(child.get(), what + "/" + name, budget, depth + 1));
        if (!emptied)
            return false;
        if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) < 0)
            return fail_errno(what + "/" + name, errno);
    }
    return true;
}

} // namespace

Result<Root> Root::open(const std::string& directory) {
    std::unique_ptr<char, CDelete<::free>> canonical(::realpath(directory.c_str(), nullptr));
    if (!canonical)
        return fail_errno("root '" + directory + "'", errno);
    UniqueFd fd(::open(canonical.get(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return fail_errno("root '" + directory + "'", errno);
    return Root(std::move(fd), canonical.get());
}

std::string Root::host_path(std::string_view path) const {
    return is_host() ? std::string(path) : directory_ + std::string(path);
}

Result<UniqueFd> Root::open_file(std::string_view path, int flags, mode_t mode) const {
    flags |= O_CLOEXEC;
    // The host's own "/" needs no confinement, and RESOLVE_IN_ROOT would refuse procfs's magic links.
    UniqueFd fd(is_host() ? ::open(std::string(path).c_str(), flags, mode)
                          : open_in_root(fd_.get(), std::string(relative(path)), flags, mode));
    if (!fd)
        return fail_errno(path, errno);
    return fd;
}

Result<Root::Parent> Root::parent_of(std::string_view path) const {
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos || slash + 1 == path.size())
        return fail(Errc::InvalidArgument, std::string(path) + ": not a file path");
    const std::string_view directory = slash == 0 ? "/" : path.substr(0, slash);
    GPUHOST_TRY(fd, open_file(directory, O_PATH | O_DIRECTORY));
    return Parent{std::move(fd), std::string(path.substr(slash + 1))};
}

Result<std::string> Root::read(std::string_view path, std::size_t limit) const {
    GPUHOST_TRY(fd, open_file(path, O_RDONLY | O_NOCTTY | O_NONBLOCK)); // a FIFO may never have a writer
    struct stat st {};
    if (::fstat(fd.get(), &st) < 0)
        return fail_errno(path, errno);
    if (S_ISFIFO(st.st_mode))
        return fail(Errc::BadContent, std::string(path) + ": is a pipe, not a file");
    return read_all(fd.get(), limit, path);
}

Result<std::string> Root::read_line(std::string_view path) const {
    GPUHOST_TRY(text, read(path));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\0'))
        text.pop_back();
    return std::move(text);
}

Result<std::vector<std::string>> Root::list(std::string_view path) const {
    GPUHOST_TRY(fd, open_file(path, O_RDONLY | O_DIRECTORY));
    DirPtr stream(::fdopendir(fd.get()));
    if (!stream)
        return fail_errno(path, errno);
    (void)fd.release();
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(stream.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

Result<std::string> Root::read_link(std::string_view path) const {
    GPUHOST_TRY(parent, parent_of(path));
    std::array<char, PATH_MAX> target{};
    const ssize_t n = ::readlinkat(parent.directory.get(), parent.name.c_str(), target.data(), target.size());
    if (n < 0)
        return fail_errno(path, errno);
    return std::string(target.data(), static_cast<std::size_t>(n));
}

Result<struct stat> Root::stat(std::string_view path) const {
    GPUHOST_TRY(fd, open_file(path, O_PATH));
    struct stat st {};
    if (::fstat(fd.get(), &st) < 0)
        return fail_errno(path, errno);
    return st;
}

Result<struct stat> Root::lstat(std::string_view path) const {
    GPUHOST_TRY(fd, open_file(path, O_PATH | O_NOFOLLOW));
    struct stat st {};
    if (::fstat(fd.get(), &st) < 0)
        return fail_errno(path, errno);
    return st;
}

bool Root::exists(std::string_view path) const {
    return lstat(path).has_value();
}

std::string_view Root::existing_part(std::string_view path) const {
    while (path.size() > 1 && !exists(path))
        path = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
    return path;
}

Result<std::uint64_t> Root::free_bytes(std::string_view path) const {
    GPUHOST_TRY(fd, open_file(path, O_PATH));
    struct statvfs st {};
    if (::fstatvfs(fd.get(), &st) < 0)
        return fail_errno(path, errno);
    return static_cast<std::uint64_t>(st.f_bavail) * st.f_frsize;
}

Result<void> Root::write_atomic(std::string_view path, std::string_view content, mode_t mode) const {
    GPUHOST_TRY(parent, parent_of(path));
    const std::string temporary = temporary_name(parent.name);
    const int directory = parent.directory.get();
    UniqueFd fd(
        ::openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd)
        return fail_errno(path, errno);
    const auto finish = [&]() -> Result<void> {
        GPUHOST_CHECK(write_all(fd.get(), content, path));
        if (::fchmod(fd.get(), mode) < 0)
            return fail_errno(path, errno);
        GPUHOST_CHECK(fsync_fd(fd.get(), path));
        if (::renameat(directory, temporary.c_str(), directory, parent.name.c_str()) < 0)
            return fail_errno(path, errno);
        return {};
    };
    if (auto done = finish(); !done) {
        ::unlinkat(directory, temporary.c_str(), 0);
        return done;
    }
    return sync_directory(path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)));
}

Result<void> Root::symlink_atomic(std::string_view target, std::string_view path) const {
    GPUHOST_TRY(parent, parent_of(path));
    const std::string temporary = temporary_name(parent.name);
    const int directory = parent.directory.get();
    if (::symlinkat(std::string(target).c_str(), directory, temporary.c_str()) < 0)
        return fail_errno(path, errno);
    if (::renameat(directory, temporary.c_str(), directory, parent.name.c_str()) < 0) {
        const int error = errno;
        ::unlinkat(directory, temporary.c_str(), 0);
        return fail_errno(path, error);
    }
    return sync_directory(path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)));
}

Result<void> Root::make_directories(std::string_view path, mode_t mode) const {
    std::size_t end = 0;
    while (end < path.size()) {
        end = path.find('/', end + 1);
        if (end == std::string_view::npos)
            end = path.size();
        const std::string_view part = path.substr(0, end);
        if (part.empty() || part.back() == '/' || stat(part))
            continue;
        GPUHOST_TRY(parent, parent_of(part));
        if (::mkdirat(parent.directory.get(), parent.name.c_str(), mode) == 0) {
            GPUHOST_CHECK(sync_directory(part.substr(0, std::max<std::size_t>(part.rfind('/'), 1))));
        } else if (errno != EEXIST) {
            return fail_errno(part, errno);
        }
    }
    return {};
}

Result<void> Root::make_node(std::string_view path, mode_t mode, dev_t device) const {
    GPUHOST_TRY(parent, parent_of(path));
    if (::mknodat(parent.directory.get(), parent.name.c_str(), mode, device) < 0)
        return fail_errno(path, errno);
    // Undoes umask(2): a device node needs exactly the requested mode.
    if (::fchmodat(parent.directory.get(), parent.name.c_str(), mode & 07777U, 0) < 0)
        return fail_errno(path, errno);
    return {};
}

Result<void> Root::rename(std::string_view from, std::string_view to) const {
    return rename_with(from, to, 0);
}

Result<void> Root::exchange(std::string_view a, std::string_view b) const {
    return rename_with(a, b, RENAME_EXCHANGE);
}

Result<void> Root::rename_with(std::string_view from, std::string_view to, unsigned flags) const {
    GPUHOST_TRY(source, parent_of(from));
    GPUHOST_TRY(target, parent_of(to));
    if (::renameat2(source.directory.get(), source.name.c_str(), target.directory.get(), target.name.c_str(),
                    flags) < 0)
        return fail_errno(std::string(from) + " → " + std::string(to), errno);
    GPUHOST_CHECK(sync_directory(to.substr(0, std::max<std::size_t>(to.rfind('/'), 1))));
    return sync_directory(from.substr(0, std::max<std::size_t>(from.rfind('/'), 1)));
}

Result<void> Root::remove(std::string_view path) const {
    auto found = parent_of(path);
    if (!found)
        return found.error().code == Errc::NotFound ? Result<void>{} : fail(found.error());
    const int directory = found->directory.get();
    const char* name = found->name.c_str();
    if (::unlinkat(directory, name, 0) == 0 || errno == ENOENT)
        return {};
    if ((errno == EISDIR || errno == EPERM) && ::unlinkat(directory, name, AT_REMOVEDIR) == 0)
        return {};
    return fail_errno(path, errno);
}

Result<bool> Root::remove_some(std::string_view path, std::size_t entries) const {
    const auto st = lstat(path);
    if (!st && st.error().code == Errc::NotFound)
        return true;
    if (!st)
        return fail(st.error());
    if (S_ISDIR(st->st_mode)) {
        GPUHOST_TRY(fd, open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
        GPUHOST_TRY(emptied, remove_children(fd.get(), std::string(path), entries, 0));
        if (!emptied)
            return false;
    }
    GPUHOST_CHECK(remove(path));
    return true;
}

Result<void> Root::remove_tree(std::string_view path) const {
    GPUHOST_CHECK(remove_some(path, std::numeric_limits<std::size_t>::max()));
    return {};
}

Result<void> Root::sync_directory(std::string_view path) const {
    GPUHOST_TRY(fd, open_file(path, O_RDONLY | O_DIRECTORY));
    return fsync_fd(fd.get(), path);
}

/// Allocates the size of a regular file at once. Pipes and files in /proc report no size, so the buffer grows
/// for them.
Result<std::string> read_all(int fd, std::size_t limit, std::string_view what) {
    constexpr std::size_t step = 16384;
    struct stat st {};
    const bool is_sized = ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    std::string content;
    content.resize(is_sized ? std::min(static_cast<std::size_t>(st.st_size), limit) + 1 : step);
    std::size_t size = 0;
    for (;;) {
        if (size == content.size())
            content.resize(size + step);
        const ssize_t n = ::read(fd, content.data() + size, content.size() - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(what, errno);
        size += static_cast<std::size_t>(n);
        if (size > limit)
            return fail(Errc::BadContent,
                        std::string(what) + ": larger than " + std::to_string(limit) + " bytes");
        if (n == 0) {
            content.resize(size);
            return content;
        }
    }
}

Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t most, std::string_view what) {
    std::string text(most, '\0');
    std::size_t done = 0;
    while (done < most) {
        const ssize_t n = ::pread(fd, text.data() + done, most - done, static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(what, errno);
        if (n == 0)
            break;
        done += static_cast<std::size_t>(n);
    }
    text.resize(done);
    return text;
}

Result<void> write_all(int fd, std::string_view data, std::string_view what) {
    while (!data.empty()) {
        const ssize_t n = ::write(fd, data.data(), data.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(what, errno);
        data.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

} // namespace gpuhost::base
