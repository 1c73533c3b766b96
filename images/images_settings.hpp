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

/// May images come in that nobody signed?
[[nodiscard]] bool unsigned_is_allowed(const core::Settings& settings);

/// The least generation that a bundle comes in with, by its name. InvalidArgument for a setting that says something else:
/// it may be meant to keep a bundle out.
using LeastGenerations = std::map<std::string, std::uint64_t>;
[[nodiscard]] base::Result<LeastGenerations> least_generations(const core::Settings& settings);
/// Of what is not told the settings, as a program of its own.
[[nodiscard]] base::Result<LeastGenerations> least_generations(const base::Root& root);

/// Names of images, or patterns of a shell, that runtimes are to have and keep.
[[nodiscard]] std::vector<std::string> pinned_patterns(const core::Settings& settings);
/// Where container runtimes listen, if they are on this host: "SOCKET" or "SOCKET=CLIENT".
struct RuntimeSettings {
    std::vector<std::string> containerd;
    std::vector<std::string> docker;
    std::vector<std::string> podman;
};
[[nodiscard]] RuntimeSettings runtime_settings(const core::Settings& settings);

} // namespace gpuhost::images
