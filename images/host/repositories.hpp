// SPDX-License-Identifier: Apache-2.0
// Makes the package manager of this host find the packages in bundles: writes one file for each bundle with
// packages.
//
//   /etc/apt/sources.list.d/gpuhost-BUNDLE.sources    apt 1.1 and later
//   /etc/yum.repos.d/gpuhost-BUNDLE.repo              dnf, yum
//
// The files refer to directories of links in the catalogue, which lead to the packages in the blob store. No
// package is installed here.
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
/// Returns Manage= in [Packages] of gpuhostd.conf.
[[nodiscard]] bool repositories_are_on(const core::Settings& settings);

/// Returns the entries for the apt repositories in `tree`, in the form of sources.list(5), deb822 style.
[[nodiscard]] std::string apt_source(const BundleRecord& bundle, const PackageTree& tree);
/// Returns the entries for the dnf repositories in `tree`, in the form of dnf.conf(5), "repo options".
[[nodiscard]] std::string dnf_repository(const BundleRecord& bundle, const PackageTree& tree);

struct Repositories {
    std::vector<std::string> bundles;          ///< names of the bundles with packages for this host
    std::vector<content::FileOperation> wrong; ///< the changes to make
    std::vector<std::string> left;             ///< sentences about files that are not changed, and why
};
/// Compares the package manager's files with what they should be. Only signed bundles have a file, and only
/// for packages of the host's distribution. Looks only at package managers whose directory, such as
/// /etc/yum.repos.d, exists. `on` is Manage= in [Packages]; if false, gpuhost's files are to be removed.
/// `without` is a bundle that is treated as removed.
[[nodiscard]] Repositories observe_repositories(const base::Root& root, bool on,
                                                const std::string& without = {});

} // namespace gpuhost::images
