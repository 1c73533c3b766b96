// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi_settings.hpp"

#include <array>

namespace gpuhost::runtime {

namespace {

using core::SettingType;

constexpr std::array keys{
    core::SettingKey{"CDI", "Enable", SettingType::Boolean, "yes", "",
                     "tell container runtimes how a container gets GPUs"},
    core::SettingKey{"CDI", "Directory", SettingType::Choice, "/run/cdi", "/run/cdi /etc/cdi",
                     "where the specifications are"},
    core::SettingKey{"CDI", "Groups", SettingType::Choice, "auto", "auto yes no",
                     "give containers the groups of device nodes, which are new in CDI 0.7"},
    core::SettingKey{"CDI", "Repair", SettingType::Boolean, "yes", "",
                     "write specifications again that another program has changed"},
    core::SettingKey{"Cluster", "Validations", SettingType::Boolean, "yes", "",
                     "tell NVIDIA's operands when the driver and containers are ready"},
};

} // namespace

std::span<const core::SettingKey> cdi_setting_keys() {
    return keys;
}

CdiSettings cdi_settings(const core::Settings& settings) {
    return {settings.boolean("CDI", "Enable"), settings.string("CDI", "Directory"),
            settings.string("CDI", "Groups"), settings.boolean("CDI", "Repair")};
}

} // namespace gpuhost::runtime
