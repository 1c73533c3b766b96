// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/input_files.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/file_version.hpp"
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
    "Name package files (.deb, .rpm, .run) and module files (.ko, also compressed), directories of them, or "
    "the directory of a driver's source alone.";
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

Result<void> check_existence(std::span<const std::string> paths) {
    for (const std::string& path : paths)
        if (struct stat status{}; ::stat(path.c_str(), &status) < 0)
            return base::fail_errno("'" + path + "'", errno);
    return {};
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
    return paths;
}

/// Replaces each directory by the files in it.
Result<std::vector<std::string>> with_files_of_directories(std::span<const std::string> arguments) {
    std::vector<std::string> paths;
    for (const std::string& path : arguments) {
        if (!is_directory(path)) {
            paths.push_back(path);
            continue;
        }
        if (is_source_directory(path))
            return base::fail(Errc::InvalidArgument,
                              "'" + path + "' has the source of a driver: it must be the only argument",
                              std::string(hint));
        GPUHOST_TRY(found, files_in(path));
        paths.insert(paths.end(), found.begin(), found.end());
    }
    return paths;
}

/// Returns the version in a file's name; empty if there is none.
std::string version_of(const std::string& path) {
    return core::version_in_names({name_of(path)}, base::is_driver_version);
}

Result<void> check_names(const std::vector<std::string>& paths) {
    std::set<std::string> seen;
    for (const std::string& path : paths)
        if (!seen.insert(name_of(path)).second)
            return base::fail(Errc::InvalidArgument, "the file name '" + name_of(path) + "' is given twice");
    return {};
}

Result<void> check_count(const std::vector<std::string>& paths, std::string_view fewer) {
    if (paths.size() <= input_file_limit)
        return {};
    return base::fail(Errc::InvalidArgument,
                      std::to_string(paths.size()) + " files: at most " + std::to_string(input_file_limit) +
                          " can be imported at once",
                      std::string(fewer));
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

std::vector<std::string> DriverInputFiles::versions() const {
    std::vector<std::string> found;
    for (const std::string& path : packages)
        if (std::string version = version_of(path); !version.empty() && !base::contains(found, version))
            found.push_back(std::move(version));
    std::sort(found.begin(), found.end(),
              [](const std::string& a, const std::string& b) { return base::compare_numbers(a, b) > 0; });
    return found;
}

void DriverInputFiles::keep(const std::string& version) {
    std::erase_if(packages, [&](const std::string& path) {
        const std::string other = version_of(path);
        return !other.empty() && other != version;
    });
}

Result<DriverInputFiles> find_driver_files(std::span<const std::string> arguments) {
    GPUHOST_CHECK(check_existence(arguments));
    DriverInputFiles files;
    if (arguments.size() == 1 && is_source_directory(arguments[0])) {
        files.source = arguments[0];
        return files;
    }
    GPUHOST_TRY(paths, with_files_of_directories(arguments));
    for (const std::string& path : paths) {
        if (!base::is_package_file(path) && !base::is_module_file(path))
            return base::fail(Errc::InvalidArgument,
                              "'" + path + "' is neither a package (.deb, .rpm, .run) nor a .ko file",
                              std::string(hint));
        (base::is_package_file(path) ? files.packages : files.modules).push_back(path);
    }
    return files;
}

Result<std::vector<std::vector<client::InputFile>>> open_driver_files(const DriverInputFiles& files) {
    std::vector<std::vector<client::InputFile>> imports;
    if (!files.source.empty()) {
        GPUHOST_TRY(packed, pack_source_directory(files.source));
        imports.emplace_back().push_back(std::move(packed));
    }
    GPUHOST_CHECK(check_count(files.packages, fewer_packages));
    GPUHOST_CHECK(check_count(files.modules, fewer_modules));
    for (const std::vector<std::string>* paths : {&files.packages, &files.modules}) {
        if (paths->empty())
            continue;
        GPUHOST_CHECK(check_names(*paths));
        GPUHOST_TRY(opened, open_all(*paths));
        imports.push_back(std::move(opened));
    }
    return imports;
}

Result<std::vector<client::InputFile>> open_package_files(std::span<const std::string> arguments) {
    const std::vector<std::string> paths(arguments.begin(), arguments.end());
    GPUHOST_CHECK(check_count(paths, "Leave out packages for debugging and development."));
    GPUHOST_CHECK(check_names(paths));
    return open_all(paths);
}

} // namespace gpuhost::ctl
