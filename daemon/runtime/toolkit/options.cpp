// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/options.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

using Type = OptionType;

// From api/config/v1 of nvidia-container-toolkit 1.20. Older versions of the toolkit ignore newer options.
constexpr std::array options{
    ToolkitOption{"disable-require", Type::Boolean, "false", ""},
    ToolkitOption{"swarm-resource", Type::Text, "", ""},
    ToolkitOption{"accept-nvidia-visible-devices-envvar-when-unprivileged", Type::Boolean, "true", ""},
    ToolkitOption{"accept-nvidia-visible-devices-as-volume-mounts", Type::Boolean, "false", ""},
    ToolkitOption{"supported-driver-capabilities", Type::Text,
                  "compat32,compute,display,graphics,ngx,utility,video", ""},
    ToolkitOption{"nvidia-container-cli.root", Type::Text, "", ""},
    ToolkitOption{"nvidia-container-cli.path", Type::Text, "", ""},
    ToolkitOption{"nvidia-container-cli.environment", Type::List, "", ""},
    ToolkitOption{"nvidia-container-cli.debug", Type::Text, "", ""},
    ToolkitOption{"nvidia-container-cli.ldcache", Type::Text, "", ""},
    ToolkitOption{"nvidia-container-cli.load-kmods", Type::Boolean, "true", ""},
    ToolkitOption{"nvidia-container-cli.no-pivot", Type::Boolean, "false", ""},
    ToolkitOption{"nvidia-container-cli.no-cgroups", Type::Boolean, "false", ""},
    ToolkitOption{"nvidia-container-cli.user", Type::Text, "", ""},
    ToolkitOption{"nvidia-container-cli.ldconfig", Type::Text, "@/sbin/ldconfig", ""},
    ToolkitOption{"nvidia-ctk.path", Type::Text, "nvidia-ctk", ""},
    ToolkitOption{"nvidia-container-runtime.debug", Type::Text, "/dev/null", ""},
    ToolkitOption{"nvidia-container-runtime.log-level", Type::Text, "info",
                  "trace debug info warning error fatal panic"},
    ToolkitOption{"nvidia-container-runtime.runtimes", Type::List, "runc,crun", ""},
    ToolkitOption{"nvidia-container-runtime.mode", Type::Text, "auto", "auto legacy csv cdi jit-cdi"},
    ToolkitOption{"nvidia-container-runtime.modes.cdi.spec-dirs", Type::List, "/etc/cdi,/var/run/cdi", ""},
    ToolkitOption{"nvidia-container-runtime.modes.cdi.default-kind", Type::Text, "nvidia.com/gpu", ""},
    ToolkitOption{"nvidia-container-runtime.modes.cdi.annotation-prefixes", Type::List, "cdi.k8s.io/", ""},
    ToolkitOption{"nvidia-container-runtime.modes.csv.mount-spec-path", Type::Text,
                  "/etc/nvidia-container-runtime/host-files-for-container.d", ""},
    ToolkitOption{"nvidia-container-runtime.modes.csv.compat-container-root", Type::Text, "", ""},
    ToolkitOption{"nvidia-container-runtime.modes.jit-cdi.nvcdi-feature-flags", Type::List, "", ""},
    ToolkitOption{"nvidia-container-runtime.modes.jit-cdi.nvcdi-disable-hooks", Type::List, "", ""},
    ToolkitOption{"nvidia-container-runtime.modes.legacy.cuda-compat-mode", Type::Text, "ldconfig",
                  "disabled hook ldconfig mount"},
    ToolkitOption{"nvidia-container-runtime-hook.path", Type::Text, "nvidia-container-runtime-hook", ""},
    ToolkitOption{"nvidia-container-runtime-hook.skip-mode-detection", Type::Boolean, "false", ""},
    ToolkitOption{"features.allow-cuda-compat-libs-from-container", Type::Boolean, "false", ""},
    ToolkitOption{"features.allow-ldconfig-from-container", Type::Boolean, "false", ""},
    ToolkitOption{"features.allow-unknown-oci-spec-fields", Type::Boolean, "false", ""},
    ToolkitOption{"features.disable-cuda-compat-lib-hook", Type::Boolean, "false", ""},
    ToolkitOption{"features.disable-imex-channel-creation", Type::Boolean, "false", ""},
    ToolkitOption{"features.ignore-imex-channel-requests", Type::Boolean, "false", ""},
    ToolkitOption{"features.no-additional-gids-for-device-nodes", Type::Boolean, "false", ""},
};

Result<Json> value_of(const ToolkitOption& option, std::string_view text) {
    const std::string key(option.key);
    if (option.type == Type::Boolean) {
        const auto value = base::parse_bool(text);
        return value ? Result<Json>(*value)
                     : base::fail(Errc::InvalidArgument,
                                  key + "=" + std::string(text) + ": neither true nor false");
    }
    if (option.type == Type::List)
        return text.empty() ? Json::array() : Json(base::split(text, ','));
    const std::vector<std::string> choices = base::split_words(option.choices);
    if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end())
        return base::fail(Errc::InvalidArgument,
                          key + "=" + std::string(text) + ": not one of: " + base::join(choices, ", "));
    return Json(std::string(text));
}

} // namespace

std::span<const ToolkitOption> toolkit_options() {
    return options;
}

const ToolkitOption* find_toolkit_option(std::string_view key) {
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const ToolkitOption& option) { return option.key == key; });
    return found == options.end() ? nullptr : &*found;
}

Result<OptionValue> parse_toolkit_option(std::string_view word) {
    const auto equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const ToolkitOption* const option = find_toolkit_option(key);
    if (option == nullptr || equals == std::string_view::npos)
        return base::fail(Errc::InvalidArgument,
                          "'" + std::string(word) + "' is not KEY=VALUE with an option of config.toml",
                          "See gpuhostd.conf(5) for the options.");
    GPUHOST_TRY(value, value_of(*option, word.substr(equals + 1)));
    return OptionValue{option, std::move(value)};
}

Json default_toolkit_config() {
    Json document = Json::object();
    for (const ToolkitOption& option : options)
        set_option(document, option.key, value_of(option, option.fallback).value_or(Json()));
    return document;
}

void set_option(Json& document, std::string_view key, Json value) {
    Json* table = &document;
    const std::vector<std::string> parts = base::split(key, '.');
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
        table = &(*table)[parts[i]];
    (*table)[parts.back()] = std::move(value);
}

const Json& get_option(const Json& document, std::string_view key) {
    const Json* value = &document;
    for (const std::string& part : base::split(key, '.'))
        value = &base::member(*value, part);
    return *value;
}

std::vector<OptionDifference> compare_toolkit_configs(const Json& theirs, const Json& ours) {
    std::vector<OptionDifference> found;
    const Json defaults = default_toolkit_config();
    for (const ToolkitOption& option : options) {
        const Json& said = get_option(theirs, option.key);
        const Json& value = said.is_null() ? get_option(defaults, option.key) : said;
        const Json& wanted = get_option(ours, option.key);
        if (value != wanted)
            found.push_back({std::string(option.key), value, wanted});
    }
    return found;
}

} // namespace gpuhost::runtime
