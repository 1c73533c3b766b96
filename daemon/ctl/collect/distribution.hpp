// SPDX-License-Identifier: Apache-2.0
// The distributions for which 'bundle collect' fetches packages: their archives and the names of their driver
// packages.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

struct AptDistribution {
    std::string_view name;     ///< as in [Packages DISTRIBUTION]: "debian-12"
    std::string_view codename; ///< "bookworm"
    bool ubuntu = false;
};

/// Returns the distribution with this name. Fails with Unsupported for a distribution that has no apt, and
/// with InvalidArgument for an unknown one.
[[nodiscard]] base::Result<const AptDistribution*> find_distribution(const std::string& name);

/// Returns the distribution's name of a platform's architecture: "amd64" for "linux/amd64". Empty for a
/// platform that gpuhostd does not support.
[[nodiscard]] std::string_view architecture_of(std::string_view platform);

/// Returns the archive of the distribution as lines of sources.list(5). `mirrors` replaces the
/// distribution's own servers. A mirror is a URL, optionally followed by the suites to use from it. Fails
/// with InvalidArgument for a mirror that is not a URL.
[[nodiscard]] base::Result<std::string> sources_of(const AptDistribution& distribution,
                                                   std::string_view architecture,
                                                   const std::vector<std::string>& mirrors);

struct Keyring {
    std::string_view path;
    std::string_view package; ///< the package of the connected machine that contains it
};
[[nodiscard]] Keyring keyring_of(const AptDistribution& distribution);

/// The packages of one driver version.
struct DriverPackages {
    std::vector<std::string> needed;
    std::vector<std::string> sources;  ///< source of the kernel modules; at least one is needed
    std::vector<std::string> optional; ///< taken if the archive has them
};

/// Returns the possible sets of packages of a driver version. An archive has at most one of them in exactly
/// this version.
[[nodiscard]] std::vector<DriverPackages> driver_packages(const AptDistribution& distribution,
                                                          const std::string& version);

/// Returns the packages that a build of kernel modules needs besides the headers.
[[nodiscard]] std::vector<std::string> build_packages();

} // namespace gpuhost::ctl
