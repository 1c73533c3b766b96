// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/config_file.hpp"

#include "config.h"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

namespace gpuhost::devices {

using base::Json;
using base::Result;
using base::Root;

namespace {

constexpr std::size_t largest = 64U << 10U; ///< bytes
constexpr std::string_view refused_path = "/run/gpuhost/devices-config.json";

} // namespace

std::string config_identity(const Root& root, const DevicesSettings& settings) {
    if (settings.config_file.empty())
        return "";
    const auto file = root.stat(settings.config_file);
    const std::string checked = settings.config_file + ": " PACKAGE_VERSION " " + settings.resource + " " +
                                settings.kubelet_root + " " + std::string(name_of(settings.mig));
    if (!file)
        return checked + " missing";
    return checked + " " + std::to_string(file->st_ino) + " " + std::to_string(file->st_size) + " " +
           std::to_string(file->st_mtim.tv_sec) + "." + std::to_string(file->st_mtim.tv_nsec);
}

std::string known_mistake(const Root& root, const DevicesSettings& settings) {
    const auto text =
        settings.config_file.empty() ? base::fail(base::Errc::NotFound, "") : root.read(refused_path);
    const auto known = text ? base::parse_json(*text, refused_path) : base::fail(text.error());
    return known && base::string_or(*known, "file", "") == config_identity(root, settings)
               ? base::string_or(*known, "mistake", "")
               : "";
}

PluginConfig read_config_file(const Root& root, const DevicesSettings& settings) {
    const std::string& path = settings.config_file;
    if (!base::starts_with(path, "/")) // empty, or DevicesSettings::mistake
        return {};
    const auto text = root.read(path, largest);
    if (text)
        return parse_plugin_config(*text, settings);
    const std::string& why = text.error().message;
    const std::string prefix = path + ": ";
    return {{}, {{path, 0, base::starts_with(why, prefix) ? why.substr(prefix.size()) : why, "", false}}};
}

Result<PluginConfig> read_sharing(const Root& root, const DevicesSettings& settings) {
    const std::string identity = config_identity(root, settings); // before the file is read: it may change
    PluginConfig config = read_config_file(root, settings);
    std::string mistake = config.mistake();
    if (mistake.empty())
        return config;
    GPUHOST_CHECK(
        root.write_atomic(refused_path, base::dump(Json{{"file", identity}, {"mistake", mistake}})));
    return base::fail(base::Errc::BadContent, std::move(mistake), config_hint);
}

std::vector<core::SettingsProblem> config_file_problems(const Root& root, const core::Settings& settings) {
    return read_config_file(root, devices_settings(settings)).problems;
}

} // namespace gpuhost::devices
