// SPDX-License-Identifier: Apache-2.0
// How this host's package manager finds the packages of its bundles: one file of its own for each bundle that has any.
//
//   /etc/apt/sources.list.d/gpuhost-BUNDLE.sources    apt 1.1 and later
//   /etc/yum.repos.d/gpuhost-BUNDLE.repo              dnf, yum
//
// The packages themselves are in the catalogue, as links into the store. Nothing is installed: that is for who runs apt.
#pragma once

#include "daemon/content/set/file_operation.hpp"
#include "daemon/core/settings.hpp"
#include "images/store/catalogue.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view apt_sources = "/etc/apt/sources.list.d";
constexpr std::string_view dnf_repositories = "/etc/yum.repos.d";

[[nodiscard]] std::span<const core::SettingKey> repository_setting_keys();
/// [Packages] of gpuhostd.conf.
[[nodiscard]] bool repositories_are_on(const core::Settings& settings);

/// sources.list(5), in the form with fields.
[[nodiscard]] std::string apt_source(const BundleRecord& bundle, const PackageTree& tree);
/// dnf.conf(5), "repo options".
[[nodiscard]] std::string dnf_repository(const BundleRecord& bundle, const PackageTree& tree);

struct Repositories {
    std::vector<std::string> bundles;          ///< that this host has packages of
    std::vector<content::FileOperation> wrong; ///< what is to be done
    std::vector<std::string> left;             ///< what stays as it is, and why: sentences
};
/// Only for package managers that are on this host, by their directory in /etc; only what is for its distribution, as it
/// is now; only of bundles that somebody signed.
[[nodiscard]] Repositories look_at_repositories(const base::Root& root, bool on,
                                                const std::string& without = {});

} // namespace gpuhost::images
