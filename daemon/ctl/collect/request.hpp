// SPDX-License-Identifier: Apache-2.0
// Options of 'bundle collect', checked.
#pragma once

#include "daemon/ctl/collect/distribution.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::ctl {

class Session;

struct CollectRequest {
    const AptDistribution* distribution = nullptr; ///< never null
    std::string platform = "linux/amd64";
    std::vector<std::string> drivers;
    std::vector<std::string> kernels;
    std::vector<std::string> images;       ///< normalised names with a tag
    std::vector<std::string> packages;     ///< names in the archive, "NAME" or "NAME=VERSION"
    std::vector<std::string> files;        ///< absolute paths of .deb files, whose libraries are needed
    std::vector<std::string> driver_files; ///< directories and URLs
    std::string sources;                   ///< text for apt's sources.list
    std::vector<std::string> keyrings;     ///< paths
    std::string host_status;               ///< path of a host's dpkg status; empty: a minimal host
    std::string directory;                 ///< absolute path
    std::string name;
    std::uint64_t generation = 0;
    bool dry_run = false;

    [[nodiscard]] std::string_view architecture() const { return architecture_of(platform); }
    [[nodiscard]] std::string spec_path() const { return directory + "/" + name + ".spec"; }
};

/// Checks all options before anything is fetched or written. Fails with InvalidArgument for a mistake.
[[nodiscard]] base::Result<CollectRequest> chosen_request(const Session& session);

} // namespace gpuhost::ctl
