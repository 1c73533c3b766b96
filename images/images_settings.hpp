// SPDX-License-Identifier: Apache-2.0
// [Images] of gpuhostd.conf.
#pragma once

#include "daemon/core/settings.hpp"

#include <span>

namespace gpuhost::images {

[[nodiscard]] std::span<const core::SettingKey> images_setting_keys();

/// May images come in that nobody signed?
[[nodiscard]] bool unsigned_is_allowed(const core::Settings& settings);

} // namespace gpuhost::images
