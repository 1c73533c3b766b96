// SPDX-License-Identifier: Apache-2.0
// Linux distributions, named as in os-release(5): "debian-12", "rhel-9".
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct OsRelease {
    std::string id;      ///< ID: "rocky"
    std::string like;    ///< ID_LIKE: "rhel centos fedora"
    std::string version; ///< VERSION_ID: "9.4"
};
[[nodiscard]] OsRelease read_os_release(const base::Root& root);

/// Returns every name that matches this host, with the version: "rocky-9.4", "rhel-9.4", …. Returns bare
/// names if there is no version.
[[nodiscard]] std::vector<std::string> distributions_of(const OsRelease& release);

/// Accepts ID-VERSION_ID in the letters that os-release(5) allows. Such a name is safe as a path component.
[[nodiscard]] bool is_distribution(std::string_view text);
/// Compares with the names of a host: "rhel-9" matches a host that is "rhel-9" or "rhel-9.4".
[[nodiscard]] bool fits_distribution(const std::vector<std::string>& host, std::string_view wanted);

} // namespace gpuhost::images
