// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/files.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/input_files.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "images/bundle/trust.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

std::string base_name(std::string path) {
    while (path.size() > 1 && path.back() == '/') // trailing slashes of a directory
        path.pop_back();
    return path.substr(path.find_last_of('/') + 1);
}

/// Returns `path` and, if it is a first volume, the other volumes in its directory.
std::vector<std::string> volumes_of(const std::string& path) {
    const std::string first = volume_name("", 1);
    std::vector<std::string> volumes{path};
    if (!base::ends_with(path, first))
        return volumes;
    const std::string bundle = path.substr(0, path.size() - first.size());
    for (std::size_t number = 2; number <= input_file_limit + 1; ++number) { // one more, to detect too many
        std::string next = volume_name(bundle, number);
        if (::access(next.c_str(), F_OK) != 0)
            break;
        volumes.push_back(std::move(next));
    }
    return volumes;
}

} // namespace

std::string volume_name(const std::string& bundle, std::size_t number) {
    char suffix[24];
    (void)std::snprintf(suffix, sizeof suffix, ".%03zu", number);
    return bundle + suffix;
}

Result<std::vector<client::InputFile>> open_bundle_files(std::span<const std::string> paths) {
    const std::vector<std::string> beside =
        paths.size() == 1 ? volumes_of(paths.front()) : std::vector<std::string>();
    const std::span<const std::string> all = beside.empty() ? paths : std::span(beside);
    if (all.size() > input_file_limit)
        return base::fail(Errc::InvalidArgument,
                          "a bundle has at most " + std::to_string(input_file_limit) + " volumes");
    std::vector<client::InputFile> files;
    for (const std::string& path : all) {
        const bool standard = path == "-";
        base::UniqueFd fd(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                   : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
        if (!fd)
            return base::fail_errno("'" + path + "'", errno);
        if (::isatty(fd.get()) == 1)
            return base::fail(Errc::InvalidArgument, "a bundle cannot be read from a terminal");
        files.push_back({standard ? "standard input" : base_name(path), std::move(fd)});
    }
    if (beside.size() > 1) // error messages name all volumes that were read
        files.front().name += " to " + beside.back().substr(beside.back().rfind('/') + 1);
    return files;
}

Result<images::BundleInput> bundle_input(const std::vector<client::InputFile>& files) {
    std::vector<images::BundleInput::Part> parts;
    parts.reserve(files.size());
    for (const client::InputFile& file : files)
        parts.push_back({file.fd.get(), file.name});
    return images::BundleInput::open(std::move(parts));
}

Result<content::TrustAnchors> chosen_trust(const Session& session) {
    const auto paths = session.arguments().values(trust_option);
    if (paths.empty()) {
        GPUHOST_TRY(host, base::Root::open("/"));
        return images::load_trust(host);
    }
    content::TrustAnchors trust;
    for (const std::string& path : paths) {
        GPUHOST_TRY(pem, read_small_file(path, base::Root::default_limit));
        GPUHOST_CHECK(trust.add(pem, path));
    }
    return trust;
}

} // namespace gpuhost::ctl
