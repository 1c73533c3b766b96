// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/upgrade/input.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "images/bundle/layout.hpp"

#include <array>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view usage =
    "Name a signed bundle, or driver packages (.deb, .rpm, .run), modules, and directories of them.";

/// Returns true for a pipe, such as /dev/stdin or the shell's <(COMMAND). Does not read from it.
bool is_stream(const std::string& path) {
    struct stat status {};
    const bool found = path == "-" ? ::fstat(STDIN_FILENO, &status) == 0 : ::stat(path.c_str(), &status) == 0;
    return found && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/// Returns true if the file begins with the header of a signed manifest.
bool is_bundle(const std::string& path) {
    const base::UniqueFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                        : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    std::array<char, images::tar_block> block{};
    return fd && ::pread(fd.get(), block.data(), block.size(), 0) == static_cast<ssize_t>(block.size()) &&
           images::manifest_size({block.data(), block.size()});
}

/// Returns the path of a bundle in the directory; empty if there is none.
std::string bundle_in(const std::string& directory) {
    const auto root = base::Root::open(directory);
    for (const std::string& name :
         root ? root->list("/").value_or(std::vector<std::string>()) : std::vector<std::string>()) {
        const std::string path = directory + (base::ends_with(directory, "/") ? "" : "/") + name;
        if (!is_stream(path) && is_bundle(path))
            return path;
    }
    return {};
}

Result<void> check_volumes(const std::vector<std::string>& paths) {
    for (std::size_t i = 1; i < paths.size(); ++i)
        if (base::is_package_file(paths[i]) || base::is_module_file(paths[i]) || is_bundle(paths[i]))
            return base::fail(Errc::InvalidArgument,
                              "'" + paths[i] + "' is not a further volume of the bundle '" + paths[0] + "'",
                              "Name one bundle, and import other files with a command of their own.");
    return {};
}

Result<DriverInputFiles> recognize_drivers(const std::vector<std::string>& paths) {
    auto files = find_driver_files(paths);
    if (files)
        return files;
    base::Error error = files.error();
    std::string bundle; // in the directory that the error names
    for (const std::string& path : paths)
        if (error.code == Errc::NotFound && base::starts_with(error.message, "'" + path + "'"))
            bundle = bundle_in(path);
    if (!bundle.empty())
        error.hint = "Name the bundle in it: gpuhostctl upgrade " + shell_quoted(bundle) + ".";
    if (error.code == Errc::InvalidArgument)
        error.hint = usage;
    return base::fail(std::move(error));
}

} // namespace

std::string UpgradeInput::noun() const {
    if (kind == Kind::Peer)
        return "the transfer of bundle " + peer_bundle + " from peers";
    if (is_bundle())
        return "the import of " + (paths[0] == "-" ? std::string("the bundle") : paths[0]);
    if (drivers.packages.empty() || drivers.modules.empty())
        return "the import of the driver's files";
    return has_imported_packages ? "the import of the modules" : "the import of the packages";
}

Result<UpgradeInput> recognize_input(const std::vector<std::string>& words, const std::string& peer) {
    UpgradeInput input;
    for (const std::string& word : words) {
        if (!base::is_driver_version(word))
            input.paths.push_back(word);
        else if (!input.version.empty() && input.version != word)
            return base::fail(Errc::InvalidArgument,
                              "two driver versions are given: " + input.version + " and " + word,
                              "Name one version. A file of such a name needs a path: ./" + word + ".");
        else
            input.version = word;
    }
    if (!peer.empty() && !input.paths.empty())
        return base::fail(Errc::InvalidArgument, "--peer and files cannot be used together",
                          "Leave out --peer to import the files.");
    if (!peer.empty()) {
        input.kind = UpgradeInput::Kind::Peer;
        input.peer_bundle = peer;
        return input;
    }
    if (input.paths.empty())
        return input;
    if (input.paths.size() == 1 && is_stream(input.paths[0])) {
        input.kind = UpgradeInput::Kind::Stream;
    } else if (is_bundle(input.paths[0]) || input.paths[0] == "-") {
        GPUHOST_CHECK(check_volumes(input.paths));
        input.kind = UpgradeInput::Kind::Bundle;
    } else {
        GPUHOST_TRY(drivers, recognize_drivers(input.paths));
        input.drivers = std::move(drivers);
        input.kind = UpgradeInput::Kind::Drivers;
    }
    return input;
}

} // namespace gpuhost::ctl
