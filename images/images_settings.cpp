// SPDX-License-Identifier: Apache-2.0
#include "images/images_settings.hpp"

#include <array>

namespace gpuhost::images {
namespace {

constexpr std::array keys{
    core::SettingKey{"Images", "AllowUnsigned", core::SettingType::Boolean, "no", "",
                     "whether images that nobody signed may be imported"},
};

} // namespace

std::span<const core::SettingKey> images_setting_keys() {
    return keys;
}

bool unsigned_is_allowed(const core::Settings& settings) {
    return settings.boolean("Images", "AllowUnsigned");
}

} // namespace gpuhost::images
