// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/runtime_settings.hpp"

#include "daemon/base/json.hpp"

#include <array>

namespace gpuhost::runtime {

using base::Json;

namespace {

using core::SettingKey;
using core::SettingType;

constexpr std::array keys{
    SettingKey{"Runtime", "Manage", SettingType::Boolean, "yes", "",
               "configure container runtimes to give GPUs to containers"},
    SettingKey{"Runtime", "Runtimes", SettingType::Words, "", "",
               "names of the runtimes to configure; empty: all"},
    SettingKey{"Runtime", "Classes", SettingType::Words, "auto", "",
               "runtime classes of NVIDIA's toolkit: auto, none, or nvidia, nvidia-cdi, nvidia-legacy"},
    SettingKey{"Runtime", "DefaultClass", SettingType::String, "", "",
               "default runtime class of containers; empty: the runtime's own default"},
    SettingKey{"Runtime", "ToolkitDirectory", SettingType::String, "", "",
               "directory of the programs of NVIDIA's runtime classes; empty: the selected toolkit's"},
    SettingKey{"Runtime", "Restart", SettingType::Boolean, "yes", "",
               "restart a runtime once after its configuration has changed"},
    SettingKey{"Runtime", "Repair", SettingType::Boolean, "yes", "",
               "configure a runtime again after another program has changed its files"},
};

} // namespace

std::span<const SettingKey> runtime_setting_keys() {
    return keys;
}

RuntimeSettings runtime_settings(const core::Settings& settings, ToolkitPlace toolkit, bool registry_hosts) {
    RuntimeSettings values;
    values.configure = settings.boolean("Runtime", "Manage");
    values.runtimes = settings.words("Runtime", "Runtimes");
    values.classes = settings.words("Runtime", "Classes");
    values.default_class = settings.string("Runtime", "DefaultClass");
    values.toolkit = std::move(toolkit);
    values.restart = settings.boolean("Runtime", "Restart");
    values.repair = settings.boolean("Runtime", "Repair");
    values.cdi = settings.boolean("CDI", "Manage");
    values.cdi_directory = settings.string("CDI", "Directory");
    values.registry_hosts = registry_hosts;
    return values;
}

Json to_json(const RuntimeSettings& settings) {
    return {{"configure", settings.configure},
            {"runtimes", settings.runtimes},
            {"classes", settings.classes},
            {"default_class", settings.default_class},
            {"toolkit_directory", settings.toolkit.directory},
            {"toolkit_programs", settings.toolkit.programs},
            {"toolkit_otherwise", settings.toolkit.otherwise},
            {"restart", settings.restart},
            {"repair", settings.repair},
            {"cdi", settings.cdi},
            {"cdi_directory", settings.cdi_directory},
            {"registry_hosts", settings.registry_hosts}};
}

Json effective_settings(RuntimeSettings settings) {
    settings.toolkit.otherwise = settings.toolkit.directory;
    return to_json(settings);
}

namespace {

/// Also reads documents of earlier builds, which contain only toolkit_directory.
ToolkitPlace toolkit_place_of(const Json& value) {
    const std::string directory = base::string_or(value, "toolkit_directory", "/usr/bin");
    return {directory, base::string_or(value, "toolkit_programs", directory),
            base::string_or(value, "toolkit_otherwise", directory)};
}

} // namespace

RuntimeSettings runtime_settings_from_json(const Json& value) {
    return {base::bool_or(value, "configure", true),
            base::strings_or_empty(value, "runtimes"),
            base::strings_or_empty(value, "classes"),
            base::string_or(value, "default_class", ""),
            toolkit_place_of(value),
            base::bool_or(value, "restart", true),
            base::bool_or(value, "repair", true),
            base::bool_or(value, "cdi", true),
            base::string_or(value, "cdi_directory", "/run/cdi"),
            base::bool_or(value, "registry_hosts", false)};
}

} // namespace gpuhost::runtime
