// SPDX-License-Identifier: Apache-2.0
// [Images] of gpuhostd.conf.
#pragma once

#include "daemon/core/settings.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::images {

[[nodiscard]] std::span<const core::SettingKey> images_setting_keys();

/// Returns false if pinned images are left to the administrator.
[[nodiscard]] bool images_managed(const core::Settings& settings);
/// Reports whether unsigned images may be imported.
[[nodiscard]] bool unsigned_is_allowed(const core::Settings& settings);

/// The least generation of a bundle that may be imported, by its name. least_generations() fails with
/// InvalidArgument for a malformed setting, which may be meant to keep a bundle out.
using LeastGenerations = std::map<std::string, std::uint64_t>;
[[nodiscard]] base::Result<LeastGenerations> least_generations(const core::Settings& settings);
/// For programs that do not receive the settings.
[[nodiscard]] base::Result<LeastGenerations> least_generations(const base::Root& root);

/// Returns the image names and shell patterns that runtimes must have and keep.
[[nodiscard]] std::vector<std::string> pinned_patterns(const core::Settings& settings);
/// The sockets of the container runtimes on this host: "SOCKET" or "SOCKET=CLIENT".
struct ImageRuntimeSettings {
    std::vector<std::string> containerd;
    std::vector<std::string> docker;
    std::vector<std::string> podman;
};
[[nodiscard]] ImageRuntimeSettings runtime_settings(const core::Settings& settings);

} // namespace gpuhost::images
