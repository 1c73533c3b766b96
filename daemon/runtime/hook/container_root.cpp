// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/container_root.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/runtime/hook/mount_calls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::fail;
using base::fail_errno;
using base::Result;
using base::UniqueFd;
using DirPtr = base::CHandle<DIR, ::closedir>;

constexpr std::size_t max_mountinfo = 16U << 20;
constexpr unsigned in_root = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;

std::string relative(std::string_view path) {
    while (base::starts_with(path, "/"))
        path.remove_prefix(1);
    return path.empty() ? "." : std::string(path);
}

UniqueFd resolve(int root, std::string_view path, int flags, unsigned how_to) {
    open_how how{};
    how.flags = static_cast<__u64>(static_cast<unsigned>(flags | O_CLOEXEC));
    how.resolve = how_to;
    const std::string name = relative(path);
    int fd = -1;
    do // EAGAIN: a rename raced with the walk; the hook's deadline ends an endless loop
        fd = static_cast<int>(::syscall(SYS_openat2, root, name.c_str(), &how, sizeof how));
    while (fd < 0 && errno == EAGAIN);
    return UniqueFd(fd);
}

tl::unexpected<base::Error> fail_place(std::string_view path, int error) {
    if (error == EXDEV || error == EBUSY)
        return fail(Errc::Refused,
                    std::string(path) + ": covered by a mount that is not the container's own");
    if (error == EROFS)
        return fail(Errc::Refused, std::string(path) + ": on a read-only file system");
    return fail_errno(path, error);
}

/// Opens a directory without leaving the file system of `root`. Creates missing directories.
Result<UniqueFd> own_directory(int root, const std::string& path) {
    UniqueFd whole = resolve(root, path, O_PATH | O_DIRECTORY, in_root | RESOLVE_NO_XDEV);
    if (whole || errno != ENOENT)
        return whole ? Result<UniqueFd>(std::move(whole)) : fail_place(path, errno);
    UniqueFd parent = resolve(root, ".", O_PATH | O_DIRECTORY, in_root | RESOLVE_NO_XDEV);
    for (std::size_t end = 0; end != path.size();) {
        const std::size_t begin = end + 1;
        end = std::min(path.find('/', begin), path.size());
        const std::string name = path.substr(begin, end - begin);
        if (name.empty())
            continue;
        if (::mkdirat(parent.get(), name.c_str(), 0755) < 0 && errno != EEXIST)
            return fail_place(path, errno);
        parent = resolve(root, path.substr(0, end), O_PATH | O_DIRECTORY, in_root | RESOLVE_NO_XDEV);
        if (!parent)
            return fail_place(path, errno);
    }
    return parent;
}

bool is_read_only(int fd) {
    struct statvfs mount {};
    return ::fstatvfs(fd, &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0;
}

/// Returns true if the file system is a tmpfs that is mounted as a whole and at one mount point only. With
/// shared mounts, this mount point may occur twice. The fields of a line are: id, parent, device, root, mount
/// point, options, optional fields up to "-", type, source, and super options (proc_pid_mountinfo(5)).
bool is_sole_tmpfs(std::string_view mountinfo, dev_t device) {
    const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
    std::string place;
    for (const std::string& line : base::split(mountinfo, '\n')) {
        const auto fields = base::split(line, ' ');
        if (fields.size() < 5 || fields[2] != number)
            continue;
        if (fields[3] != "/" || line.find(" - tmpfs ") == std::string::npos)
            return false;
        if (!place.empty() && fields[4] != place)
            return false;
        place = fields[4];
    }
    return !place.empty();
}

/// Returns the container's /dev if it is a tmpfs that the runtime made for this container; else an empty
/// descriptor. A tmpfs that is also mounted elsewhere is a volume.
UniqueFd own_dev(int root) {
    UniqueFd dev = resolve(root, "dev", O_PATH | O_DIRECTORY, in_root | RESOLVE_NO_SYMLINKS);
    const UniqueFd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    struct stat st {};
    const auto mountinfo = base::read_all(file.get(), max_mountinfo, "mountinfo");
    const bool is_own =
        dev && ::fstat(dev.get(), &st) == 0 && mountinfo && is_sole_tmpfs(*mountinfo, st.st_dev);
    return is_own ? std::move(dev) : UniqueFd();
}

/// Opens the file of an O_PATH descriptor without another name lookup.
UniqueFd reopen(const UniqueFd& fd, int flags) {
    return UniqueFd(
        ::open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), flags | O_CLOEXEC | O_NOCTTY));
}

Result<UniqueFd> regular_file(UniqueFd found, std::string_view path) {
    struct stat st {};
    if (!found || ::fstat(found.get(), &st) < 0)
        return fail_errno(path, errno);
    if (!S_ISREG(st.st_mode))
        return fail(Errc::BadContent, std::string(path) + ": not a regular file");
    UniqueFd file = reopen(found, O_RDONLY | O_NONBLOCK);
    if (!file)
        return fail_errno(path, errno);
    return file;
}

std::string temporary_name() {
    std::uint64_t number = 0;
    (void)!::getrandom(&number, sizeof number, 0); // cannot fail for so few bytes
    return ".gpuhost-" + std::to_string(number);
}

} // namespace

Result<ContainerRoot> ContainerRoot::open(const std::string& path, bool read_only) {
    UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat own {};
    struct stat hosts {};
    if (!fd || ::fstat(fd.get(), &own) < 0 || ::stat("/", &hosts) < 0)
        return fail_errno("the container's root '" + path + "'", errno);
    if (own.st_dev == hosts.st_dev && own.st_ino == hosts.st_ino)
        return fail(Errc::InvalidArgument, "the container's root '" + path + "' is the host's root");
    UniqueFd writable;
    if (read_only && is_read_only(fd.get()))
        if (auto clone = clone_writable(fd.get()))
            writable = std::move(*clone);
    return ContainerRoot(std::move(fd), std::move(writable), path);
}

Result<UniqueFd> ContainerRoot::find(std::string_view path) const {
    UniqueFd fd = resolve(fd_.get(), path, O_PATH, in_root);
    if (!fd)
        return fail_errno(path, errno);
    return fd;
}

Result<UniqueFd> ContainerRoot::open_file(std::string_view path) const {
    UniqueFd found = resolve(fd_.get(), path, O_PATH, in_root | RESOLVE_NO_XDEV);
    if (!found)
        return fail_place(path, errno);
    return regular_file(std::move(found), path);
}

Result<std::string> ContainerRoot::read(std::string_view path) const {
    GPUHOST_TRY(file, open_file(path));
    return base::read_all(file.get(), max_file, path);
}

Result<std::vector<std::string>> ContainerRoot::list(std::string_view path) const {
    UniqueFd fd = resolve(fd_.get(), path, O_RDONLY | O_DIRECTORY, in_root | RESOLVE_NO_XDEV);
    DirPtr stream(fd ? ::fdopendir(fd.get()) : nullptr);
    if (!stream)
        return fail_place(path, errno);
    (void)fd.release();
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(stream.get())) {
        if (names.size() == max_names)
            return fail(Errc::BadContent,
                        std::string(path) + ": more than " + std::to_string(max_names) + " names");
        names.emplace_back(entry->d_name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

Result<ContainerRoot::Place> ContainerRoot::own_place(std::string_view path) const {
    const auto slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (!base::starts_with(path, "/") || name.empty() || name == "." || name == "..")
        return fail(Errc::InvalidArgument, std::string(path) + ": not the absolute path of a file");
    const std::string directory(path.substr(0, slash));
    constexpr std::string_view dev_path = "/dev";
    const bool below_dev = directory == dev_path || base::starts_with(directory, "/dev/");
    auto found = own_directory(own(), directory);
    if (!found && found.error().code == Errc::Refused && below_dev)
        if (const UniqueFd dev = own_dev(fd_.get()))
            found = own_directory(dev.get(), directory.substr(dev_path.size()));
    GPUHOST_TRY(fd, std::move(found));
    if (is_read_only(fd.get()))
        return fail_place(path, EROFS);
    if (!resolve(fd.get(), name, O_PATH | O_NOFOLLOW, in_root | RESOLVE_NO_XDEV) && errno == EXDEV)
        return fail_place(path, EXDEV);
    return Place{std::move(fd), std::string(name)};
}

Result<void> ContainerRoot::check_own(std::string_view path) const {
    GPUHOST_CHECK(own_place(path));
    return {};
}

Result<void> ContainerRoot::write(std::string_view path, std::string_view content) const {
    GPUHOST_TRY(place, own_place(path));
    const int directory = place.directory.get();
    const auto there = regular_file(
        UniqueFd(::openat(directory, place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)), path);
    if (there) {
        const auto now = base::read_all(there->get(), max_file, path);
        if (now && *now == content)
            return {};
    }
    const std::string temporary = temporary_name();
    const UniqueFd file(
        ::openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file)
        return fail_errno(path, errno);
    const auto written = base::write_all(file.get(), content, path);
    if (written && ::renameat(directory, temporary.c_str(), directory, place.name.c_str()) == 0)
        return {};
    const int error = errno;
    ::unlinkat(directory, temporary.c_str(), 0);
    return written ? fail_place(path, error) : written;
}

Result<void> ContainerRoot::symlink(std::string_view target, std::string_view path) const {
    GPUHOST_TRY(place, own_place(path));
    const int directory = place.directory.get();
    std::array<char, PATH_MAX> now{};
    const ssize_t n = ::readlinkat(directory, place.name.c_str(), now.data(), now.size());
    if (n >= 0 && std::string_view(now.data(), static_cast<std::size_t>(n)) == target)
        return {};
    const std::string temporary = temporary_name();
    if (::symlinkat(std::string(target).c_str(), directory, temporary.c_str()) < 0)
        return fail_errno(path, errno);
    if (::renameat(directory, temporary.c_str(), directory, place.name.c_str()) == 0)
        return {};
    const int error = errno;
    ::unlinkat(directory, temporary.c_str(), 0);
    return fail_place(path, error);
}

Result<void> ContainerRoot::remove(std::string_view path) const {
    GPUHOST_TRY(place, own_place(path));
    if (::unlinkat(place.directory.get(), place.name.c_str(), 0) < 0 && errno != ENOENT)
        return fail_place(path, errno);
    return {};
}

} // namespace gpuhost::runtime
