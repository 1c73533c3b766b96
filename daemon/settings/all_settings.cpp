// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/all_settings.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/cluster/node/cluster_settings.hpp"
#include "daemon/devices/publish/devices_settings.hpp"
#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/runtime_settings.hpp"
#include "daemon/runtime/toolkit_settings.hpp"
#include "images/host/mirrors.hpp"
#include "images/host/repositories.hpp"
#include "images/images_settings.hpp"
#include "images/peers_settings.hpp"
#include "images/registry_settings.hpp"
#include "kmod/driver_settings.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gpuhost {
namespace {

constexpr std::string_view head =
    "# Every setting of gpuhostd at its default, see gpuhostd.conf(5). To change a setting, copy its line "
    "and\n"
    "# its section to /etc/gpuhost/gpuhostd.conf.d/NAME.conf, without the '#', and run: gpuhostctl reload\n";

/// Returns the line of text above a key in the file of defaults: its summary and, for a choice, the accepted
/// values.
std::string comment(const core::SettingKey& key) {
    std::string text = "# " + std::string(key.summary);
    if (key.type == core::SettingType::Choice)
        text += ": " + base::join(base::split_words(key.choices), ", ");
    return text + "\n";
}

} // namespace

std::vector<std::span<const core::SettingKey>> setting_keys() {
    return {
        kmod::driver_setting_keys(),     images::images_setting_keys(),   images::mirror_setting_keys(),
        images::registry_setting_keys(), images::peers_setting_keys(),    images::repository_setting_keys(),
        runtime::cdi_setting_keys(),     devices::devices_setting_keys(), runtime::runtime_setting_keys(),
        runtime::toolkit_setting_keys(), cluster::cluster_setting_keys()};
}

std::string default_settings_file() {
    // Collects the keys of each section first, because several subsystems may have keys in one section.
    std::vector<std::pair<std::string_view, std::string>> sections;
    for (const auto& group : setting_keys())
        for (const core::SettingKey& key : group) {
            auto it = std::find_if(sections.begin(), sections.end(),
                                   [&](const auto& section) { return section.first == key.section; });
            if (it == sections.end())
                it = sections.insert(it, {key.section, {}});
            it->second += comment(key) + "#" + std::string(key.key) + "=" + std::string(key.fallback) + "\n";
        }
    std::string file(head);
    for (const auto& [name, keys] : sections)
        file += "\n[" + std::string(name) + "]\n" + keys;
    return file;
}

} // namespace gpuhost
