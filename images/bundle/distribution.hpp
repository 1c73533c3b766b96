// SPDX-License-Identifier: Apache-2.0
// Distributions of Linux by the words of os-release(5): "debian-12", "rhel-9".
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

/// All that a host goes by, with its version: "rocky-9.4", "rhel-9.4", …. Without a version only names.
[[nodiscard]] std::vector<std::string> distributions_of(const OsRelease& release);

/// ID-VERSION_ID, in the letters that os-release(5) has for them: safe as a path component.
[[nodiscard]] bool is_distribution(std::string_view text);
/// "rhel-9" fits a host that is "rhel-9" or "rhel-9.4".
[[nodiscard]] bool fits_distribution(const std::vector<std::string>& host, std::string_view wanted);

} // namespace gpuhost::images
