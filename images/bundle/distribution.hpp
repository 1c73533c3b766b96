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

/// Returns the names of the distributions whose packages fit this host: ID and each word of ID_LIKE, with
/// VERSION_ID appended ("rocky-9.4", "rhel-9.4"). Without VERSION_ID the names have no version: "rocky".
[[nodiscard]] std::vector<std::string> distributions_of(const OsRelease& release);

/// Accepts names of the form ID-VERSION_ID, in the letters that os-release(5) allows. Such a name is safe as
/// a path component.
[[nodiscard]] bool is_distribution(std::string_view text);
/// Reports whether `wanted` fits one of a host's names, which distributions_of() returns. "rhel-9" fits
/// "rhel-9" and "rhel-9.4".
[[nodiscard]] bool fits_distribution(const std::vector<std::string>& host, std::string_view wanted);

} // namespace gpuhost::images
