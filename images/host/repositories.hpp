// SPDX-License-Identifier: Apache-2.0
// Adds the packages of this host's bundles to its package manager: one file for each bundle with packages.
//
//   /etc/apt/sources.list.d/gpuhost-BUNDLE.sources    apt 1.1 and later
//   /etc/yum.repos.d/gpuhost-BUNDLE.repo              dnf, yum
//
// The packages themselves are in the catalogue, as links into the store. Nothing is installed here.
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

/// Returns entries in the form of sources.list(5), deb822 style.
[[nodiscard]] std::string apt_source(const BundleRecord& bundle, const PackageTree& tree);
/// Returns entries in the form of dnf.conf(5), "repo options".
[[nodiscard]] std::string dnf_repository(const BundleRecord& bundle, const PackageTree& tree);

struct Repositories {
    std::vector<std::string> bundles;          ///< those with packages for this host
    std::vector<content::FileOperation> wrong; ///< the changes to make
    std::vector<std::string> left;             ///< sentences about what stays as it is, and why
};
/// Considers only package managers with a directory in /etc, packages for the host's present distribution,
/// and signed bundles.
[[nodiscard]] Repositories observe_repositories(const base::Root& root, bool on,
                                                const std::string& without = {});

} // namespace gpuhost::images
