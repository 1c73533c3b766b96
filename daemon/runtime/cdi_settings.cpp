// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi_settings.hpp"

#include <array>

namespace gpuhost::runtime {

namespace {

using core::SettingType;

constexpr std::array keys{
    core::SettingKey{"CDI", "Manage", SettingType::Boolean, "yes", "",
                     "write CDI specifications of the running driver"},
    core::SettingKey{"CDI", "Directory", SettingType::Choice, "/run/cdi", "/run/cdi /etc/cdi",
                     "directory of the specifications"},
    core::SettingKey{"CDI", "Groups", SettingType::Choice, "auto", "auto yes no",
                     "whether specifications contain the groups of device nodes, new in CDI 0.7"},
    core::SettingKey{"CDI", "Repair", SettingType::Boolean, "yes", "",
                     "write specifications again after another program has changed them"},
    core::SettingKey{"Cluster", "StatusFiles", SettingType::Boolean, "yes", "",
                     "maintain the files in /run/nvidia/validations that NVIDIA's operands wait for"},
};

} // namespace

std::span<const core::SettingKey> cdi_setting_keys() {
    return keys;
}

CdiSettings cdi_settings(const core::Settings& settings) {
    return {settings.boolean("CDI", "Manage"), settings.string("CDI", "Directory"),
            settings.string("CDI", "Groups"), settings.boolean("CDI", "Repair")};
}

} // namespace gpuhost::runtime
