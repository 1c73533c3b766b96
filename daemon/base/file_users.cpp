// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/file_users.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::base {

namespace {

/// Parses a line like the following; nullopt if it names no file.
/// 7f1c2a000000-7f1c2a021000 r--p 00000000 fd:01 131   /usr/lib/libcuda.so.1
/// A host has hundreds of thousands of lines, so nothing is copied from lines without a file.
std::optional<Mapping> parse_mapping(std::string_view line) {
    const auto path = line.find('/');
    if (path == std::string_view::npos)
        return std::nullopt;
    std::string_view fields = line.substr(0, path);
    for (unsigned before_inode = 4; before_inode > 0; --before_inode) {
        const auto end = fields.find(' ');
        if (end == std::string_view::npos)
            return std::nullopt;
        fields.remove_prefix(end + 1);
    }
    const auto end = std::min(fields.find(' '), fields.size());
    const auto inode = base::parse_uint(fields.substr(0, end));
    if (!inode || fields.find_first_not_of(' ', end) != std::string_view::npos)
        return std::nullopt; // "[anon:a/b]" is not a path
    return Mapping{*inode, std::string(line.substr(path))};
}

constexpr std::size_t maps_limit = std::size_t{256} << 20U;

/// The base names of files by inode number. The device numbers are not compared: on btrfs and overlayfs
/// /proc/PID/maps and stat(2) report different ones. Base names are compared instead. A bind mount of a
/// directory keeps the base names of its files; a bind mount of a single file nearly always keeps its base
/// name.
using Inodes = std::map<std::uint64_t, std::string>;

Result<void> collect(const Root& root, const std::string& directory, Inodes& inodes) {
    GPUHOST_TRY(names, root.list(directory));
    for (const std::string& name : names) {
        const std::string path = directory + "/" + name;
        GPUHOST_TRY(st, root.lstat(path));
        if (S_ISDIR(st.st_mode))
            GPUHOST_CHECK(collect(root, path, inodes));
        else if (S_ISREG(st.st_mode))
            inodes.emplace(st.st_ino, name);
    }
    return {};
}

bool is_below(std::string_view path, std::string_view directory) {
    return starts_with(path, directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

std::optional<std::string> mapped_file(std::string_view maps, const Inodes& inodes,
                                       std::string_view directory) {
    for (const Mapping& mapping : parse_maps(maps)) {
        std::string_view path = mapping.path;
        if (ends_with(path, " (deleted)"))
            path.remove_suffix(std::string_view(" (deleted)").size());
        const auto known = inodes.find(mapping.inode);
        if ((known != inodes.end() && ends_with(path, "/" + known->second)) || is_below(path, directory))
            return std::string(path);
    }
    return std::nullopt;
}

/// Returns the mount point at which `directory`, or a directory below it, is mounted. The fourth field of a
/// line of mountinfo is the mounted path in its file system, the fifth is the mount point.
std::optional<std::string> mounted_at(std::string_view mountinfo, std::string_view directory,
                                      std::string_view store) {
    // If the store is a file system of its own, the fourth field begins with the component `store`.
    const auto front = directory.rfind(store);
    const std::string_view in_store = front == std::string_view::npos ? directory : directory.substr(front);
    for (const std::string& line : split(mountinfo, '\n')) {
        const auto fields = split_words(line);
        if (fields.size() < 5 || fields[3] == "/")
            continue;
        const auto at = fields[3].find(in_store);
        if (at != std::string::npos && is_below(std::string_view(fields[3]).substr(at), in_store))
            return fields[4];
    }
    return std::nullopt;
}

class Scan {
  public:
    Scan(const Root& root, const std::string& directory, std::string_view store)
        : root_(root), directory_(directory), store_(store) {}

    Result<std::vector<FileUser>> run() {
        GPUHOST_CHECK(collect(root_, directory_, inodes_));
        if (!root_.exists("/proc"))
            return found_; // an offline image has no processes
        GPUHOST_TRY(names, root_.list("/proc"));
        for (const std::string& name : names)
            if (const auto pid = parse_uint(name); pid && static_cast<pid_t>(*pid) != ::getpid())
                GPUHOST_CHECK(look_at(static_cast<pid_t>(*pid), "/proc/" + name));
        return std::move(found_);
    }

  private:
    Result<void> look_at(pid_t pid, const std::string& process) {
        const auto maps = root_.read(process + "/maps", maps_limit);
        if (!maps)
            return root_.exists(process + "/stat")
                       ? fail(maps.error().context("searching for users of " + directory_))
                       : Result<void>(); // the process exited meanwhile
        auto file = mapped_file(*maps, inodes_, directory_);
        if (!file)
            file = mount_of(process);
        if (file)
            found_.push_back({pid, *std::move(file)});
        return {};
    }

    /// Reads each mount namespace once, for its first process.
    std::optional<std::string> mount_of(const std::string& process) {
        const auto space = root_.read_link(process + "/ns/mnt");
        if (!space || !seen_.insert(*space).second)
            return std::nullopt;
        const auto mountinfo = root_.read(process + "/mountinfo", maps_limit);
        return mountinfo ? mounted_at(*mountinfo, directory_, store_) : std::nullopt;
    }

    const Root& root_;
    const std::string& directory_;
    std::string_view store_;
    Inodes inodes_;
    std::set<std::string> seen_;
    std::vector<FileUser> found_;
};

} // namespace

std::vector<Mapping> parse_maps(std::string_view text) {
    std::vector<Mapping> mappings;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        auto mapping = parse_mapping(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        // the segments of one file are adjacent
        if (mapping && (mappings.empty() || mappings.back().inode != mapping->inode ||
                        mappings.back().path != mapping->path))
            mappings.push_back(std::move(*mapping));
    }
    return mappings;
}

Result<std::vector<FileUser>> find_file_users(const Root& root, const std::string& directory,
                                              std::string_view store) {
    return Scan(root, directory, store).run();
}

} // namespace gpuhost::base
