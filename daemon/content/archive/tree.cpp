// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/tree.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;
using base::UniqueFd;

namespace {

using DirPtr = base::CHandle<DIR, ::closedir>;

/// The callbacks of Walk. Paths are relative to the top. A directory follows its content.
struct Visitor {
    std::function<Result<void>(const std::string& path, int fd, const struct stat& st)> file;
    std::function<Result<void>(const std::string& path, std::string target)> link;
    std::function<Result<void>(const std::string& path, int fd)> directory;
};

class Walk {
  public:
    Walk(const Visitor& visitor, const std::string& what, const TreeLimits& limits)
        : visitor_(visitor), what_(what), limits_(limits) {}

    Result<void> run(int directory, const std::string& path, unsigned depth) {
        if (depth > limits_.depth)
            return bad(path, "directories are nested too deeply");
        GPUHOST_TRY(names, list(directory, path));
        for (const std::string& name : names)
            GPUHOST_CHECK(entry(directory, name, path.empty() ? name : path + "/" + name, depth));
        return visitor_.directory ? visitor_.directory(path, directory) : Result<void>{};
    }

  private:
    Result<std::vector<std::string>> list(int directory, const std::string& path) {
        UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        DirPtr stream(copy ? ::fdopendir(copy.get()) : nullptr);
        if (!stream)
            return base::fail_errno(what_ + "/" + path, errno);
        (void)copy.release();
        std::vector<std::string> names;
        while (const dirent* entry = ::readdir(stream.get())) {
            const std::string_view name = entry->d_name;
            if (name == "." || name == "..")
                continue;
            if (++count_ > limits_.files)
                return bad(path, "more than " + std::to_string(limits_.files) + " files");
            names.emplace_back(name);
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    Result<void> entry(int directory, const std::string& name, const std::string& path, unsigned depth) {
        struct stat st {};
        if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) < 0)
            return base::fail_errno(what_ + "/" + path, errno);
        if (S_ISLNK(st.st_mode))
            return link(directory, name, path);
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            return bad(path, "is a device, socket or pipe");
        UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (!fd || ::fstat(fd.get(), &st) < 0)
            return base::fail_errno(what_ + "/" + path, errno);
        if (S_ISDIR(st.st_mode))
            return run(fd.get(), path, depth + 1);
        if (!S_ISREG(st.st_mode))
            return bad(path, "changed while it was read");
        if (st.st_nlink != 1)
            return bad(path, "has more than one name (hard link)");
        bytes_ += static_cast<std::uint64_t>(st.st_size);
        if (bytes_ > limits_.bytes)
            return bad(path, "more than " + std::to_string(limits_.bytes >> 20U) + " MiB in all");
        return visitor_.file ? visitor_.file(path, fd.get(), st) : Result<void>{};
    }

    Result<void> link(int directory, const std::string& name, const std::string& path) {
        std::array<char, PATH_MAX> target{};
        const ssize_t n = ::readlinkat(directory, name.c_str(), target.data(), target.size());
        if (n < 0)
            return base::fail_errno(what_ + "/" + path, errno);
        std::string text(target.data(), static_cast<std::size_t>(n));
        if (!link_stays_inside(path, text))
            return bad(path, "is a link that points outside, to '" + text + "'");
        return visitor_.link ? visitor_.link(path, std::move(text)) : Result<void>{};
    }

    tl::unexpected<base::Error> bad(const std::string& path, const std::string& reason) const {
        return base::fail(Errc::BadContent, what_ + "/" + path + ": " + reason);
    }

    const Visitor& visitor_;
    const std::string& what_;
    const TreeLimits& limits_;
    std::size_t count_ = 0;
    std::uint64_t bytes_ = 0;
};

} // namespace

Result<std::vector<TreeFile>> hash_tree(int directory, const std::string& what, const OnBytes& on_bytes,
                                        const TreeLimits& limits) {
    std::vector<TreeFile> files;
    Visitor visitor;
    visitor.file = [&](const std::string& path, int fd, const struct stat& st) -> Result<void> {
        GPUHOST_TRY(digest, sha256_of_file(fd, what + "/" + path, on_bytes));
        files.push_back({path, {}, (st.st_mode & 0111U) != 0, digest.size, std::move(digest.sha256)});
        return {};
    };
    visitor.link = [&](const std::string& path, std::string target) -> Result<void> {
        files.push_back({path, std::move(target), false, 0, {}});
        return {};
    };
    Walk walk(visitor, what, limits);
    GPUHOST_CHECK(walk.run(directory, {}, 0));
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
}

Result<void> seal_tree(int directory, const std::string& what, const TreeLimits& limits) {
    const bool root = ::geteuid() == 0;
    const auto take = [root](int fd, mode_t mode) {
        return (!root || ::fchown(fd, 0, 0) == 0) && ::fchmod(fd, mode) == 0;
    };
    Visitor seal;
    seal.file = [&](const std::string& path, int fd, const struct stat& st) -> Result<void> {
        if (!take(fd, (st.st_mode & 0111U) != 0 ? 0555 : 0444))
            return base::fail_errno(what + "/" + path, errno);
        // Only starts the write; fsync() below reports errors.
        (void)::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
        return {};
    };
    seal.directory = [&](const std::string& path, int fd) -> Result<void> {
        if (!take(fd, 0755))
            return base::fail_errno(what + "/" + path, errno);
        return {};
    };
    Visitor sync;
    const auto wait = [&](const std::string& path, int fd) -> Result<void> {
        if (::fsync(fd) < 0)
            return base::fail_errno(what + "/" + path, errno);
        return {};
    };
    sync.file = [&](const std::string& path, int fd, const struct stat&) { return wait(path, fd); };
    sync.directory = wait;
    Walk first(seal, what, limits);
    GPUHOST_CHECK(first.run(directory, {}, 0));
    Walk second(sync, what, limits);
    return second.run(directory, {}, 0);
}

bool link_stays_inside(std::string_view path, std::string_view target) {
    if (target.empty() || target.front() == '/')
        return false;
    auto depth = std::count(path.begin(), path.end(), '/');
    while (!target.empty()) {
        const auto slash = target.find('/');
        const std::string_view part = target.substr(0, slash);
        target.remove_prefix(slash == std::string_view::npos ? target.size() : slash + 1);
        if (part == ".." && --depth < 0)
            return false;
        if (!part.empty() && part != "." && part != "..")
            ++depth;
    }
    return true;
}

} // namespace gpuhost::content
