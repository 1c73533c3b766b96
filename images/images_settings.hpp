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

/// Returns Manage=. If false, pinned images are not placed in the container runtimes automatically.
[[nodiscard]] bool images_managed(const core::Settings& settings);
/// Returns AllowUnsigned=: whether unsigned images may be imported.
[[nodiscard]] bool unsigned_is_allowed(const core::Settings& settings);

/// Maps the name of a bundle to the least generation that may be imported (MinimumGeneration=). If the
/// setting is malformed, least_generations() fails with InvalidArgument. Then no bundle is imported, because
/// the setting may be meant to exclude that bundle.
using LeastGenerations = std::map<std::string, std::uint64_t>;
[[nodiscard]] base::Result<LeastGenerations> least_generations(const core::Settings& settings);
/// Reads the setting from gpuhostd.conf, for programs that have no Settings object.
[[nodiscard]] base::Result<LeastGenerations> least_generations(const base::Root& root);

/// Containerd=, Docker= and Podman=: the sockets of the container runtimes on this host. Each is "SOCKET", or
/// "SOCKET=CLIENT" with the path of the client program to run.
struct ImageRuntimeSettings {
    std::vector<std::string> containerd;
    std::vector<std::string> docker;
    std::vector<std::string> podman;
};
[[nodiscard]] ImageRuntimeSettings runtime_settings(const core::Settings& settings);

} // namespace gpuhost::images
