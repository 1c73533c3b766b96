// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/input_files.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/source_directory.hpp"

#include <algorithm>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view hint =
    "Name package files (.deb, .rpm, .run) or module files (.ko, also compressed), one directory of either, "
    "or the directory of a driver's source.";
constexpr std::string_view fewer_packages =
    "Import the packages of the userland that a GPU host needs together, and the source of the kernel "
    "modules (…-dkms) separately.";
constexpr std::string_view fewer_modules = "Name the driver's own modules only: nvidia*.ko.";

std::string name_of(const std::string& path) {
    return path.substr(path.find_last_of('/') + 1);
}

bool is_directory(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<void> check_existence(const std::vector<std::string>& paths) {
    for (const std::string& path : paths)
        if (struct stat status{}; ::stat(path.c_str(), &status) < 0)
            return base::fail_errno("'" + path + "'", errno);
    return {};
}

bool has_both_kinds(const std::vector<std::string>& paths) {
    return std::any_of(paths.begin(), paths.end(), base::is_package_file) &&
           std::any_of(paths.begin(), paths.end(), base::is_module_file);
}

Result<std::vector<std::string>> files_in(const std::string& directory) {
    GPUHOST_TRY(root, base::Root::open(directory));
    GPUHOST_TRY(names, root.list("/"));
    std::vector<std::string> paths;
    for (const std::string& name : names)
        if (base::is_package_file(name) || base::is_module_file(name))
            paths.push_back(directory + (base::ends_with(directory, "/") ? "" : "/") + name);
    if (paths.empty())
        return base::fail(Errc::NotFound,
                          "'" + directory + "' has no package (.deb, .rpm, .run) and no .ko file",
                          "Name the directory that the files are in; subdirectories are not searched.");
    if (has_both_kinds(paths)) {
        const std::string glob = directory + (base::ends_with(directory, "/") ? "*" : "/*");
        const std::string first = *std::find_if(paths.begin(), paths.end(), base::is_package_file);
        return base::fail(Errc::InvalidArgument, "'" + directory + "' has both packages and modules",
                          "Import the packages first: gpuhostctl driver import " + glob +
                              first.substr(first.rfind('.')) +
                              ". Then import the modules: gpuhostctl driver import " + glob + ".ko*.");
    }
    return paths;
}

Result<void> check_names(const std::vector<std::string>& paths) {
    std::set<std::string> seen;
    for (const std::string& path : paths)
        if (!seen.insert(name_of(path)).second)
            return base::fail(Errc::InvalidArgument, "the file name '" + name_of(path) + "' is given twice");
    return {};
}

Result<void> check(const std::vector<std::string>& paths) {
    GPUHOST_CHECK(check_existence(paths));
    const bool packages = std::any_of(paths.begin(), paths.end(), base::is_package_file);
    if (has_both_kinds(paths))
        return base::fail(Errc::InvalidArgument, "packages and modules can't be imported together",
                          std::string(hint));
    if (paths.size() > input_file_limit)
        return base::fail(Errc::InvalidArgument,
                          std::to_string(paths.size()) + " files: at most " +
                              std::to_string(input_file_limit) + " can be imported at once",
                          std::string(packages ? fewer_packages : fewer_modules));
    for (const std::string& path : paths) {
        if (is_directory(path))
            return base::fail(Errc::InvalidArgument,
                              "'" + path + "' is a directory: it must be the only argument",
                              std::string(hint));
        if (!base::is_package_file(path) && !base::is_module_file(path))
            return base::fail(Errc::InvalidArgument,
                              "'" + path + "' is neither a package (.deb, .rpm, .run) nor a .ko file",
                              std::string(hint));
    }
    return check_names(paths);
}

Result<client::InputFile> open_one(const std::string& path) {
    // O_NONBLOCK keeps a FIFO from blocking; it has no effect on regular files.
    base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd)
        return base::fail_errno("'" + path + "'", errno);
    struct stat status {};
    if (::fstat(fd.get(), &status) < 0)
        return base::fail_errno("'" + path + "'", errno);
    if (!S_ISREG(status.st_mode))
        return base::fail(Errc::InvalidArgument, "'" + path + "' is not a regular file");
    return client::InputFile{name_of(path), std::move(fd)};
}

Result<std::vector<client::InputFile>> open_all(const std::vector<std::string>& paths) {
    std::vector<client::InputFile> files;
    for (const std::string& path : paths) {
        GPUHOST_TRY(file, open_one(path));
        files.push_back(std::move(file));
    }
    return files;
}

} // namespace

Result<std::vector<client::InputFile>> open_input_files(std::span<const std::string> arguments) {
    std::vector<std::string> paths(arguments.begin(), arguments.end());
    if (paths.size() == 1 && is_source_directory(paths[0])) {
        GPUHOST_TRY(packed, pack_source_directory(paths[0]));
        std::vector<client::InputFile> files;
        files.push_back(std::move(packed));
        return files;
    }
    if (paths.size() == 1 && is_directory(paths[0])) {
        GPUHOST_TRY(found, files_in(paths[0]));
        paths = std::move(found);
    }
    GPUHOST_CHECK(check(paths));
    return open_all(paths);
}

Result<std::vector<client::InputFile>> open_package_files(std::span<const std::string> arguments) {
    const std::vector<std::string> paths(arguments.begin(), arguments.end());
    if (paths.size() > input_file_limit)
        return base::fail(Errc::InvalidArgument,
                          std::to_string(paths.size()) + " files: at most " +
                              std::to_string(input_file_limit) + " can be imported at once",
                          "Leave out packages for debugging and development.");
    GPUHOST_CHECK(check_names(paths));
    return open_all(paths);
}

} // namespace gpuhost::ctl
