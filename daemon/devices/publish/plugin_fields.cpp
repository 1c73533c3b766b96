// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/plugin_fields.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/nearest.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace gpuhost::devices {

using base::Json;
using base::member;

namespace {

constexpr std::size_t most_problems = 32;
constexpr std::size_t longest_quote = 128; ///< bytes
constexpr std::string_view any = "*";

/// A field of api/config/v1 of NVIDIA's device plugin that has no effect here.
struct OtherField {
    std::string_view map;
    std::string_view key;
    /// Values by which gpuhostd does the same; any: the field is about programs of NVIDIA.
    std::string_view same;
};
constexpr std::array other_fields{
    OtherField{"flags", "failOnInitError", any},
    OtherField{"flags", "mpsRoot", any},
    OtherField{"flags", "nvidiaDriverRoot", "/"},
    OtherField{"flags", "nvidiaDevRoot", "/"},
    OtherField{"flags", "gdrcopyEnabled", "false"},
    OtherField{"flags", "gdsEnabled", "false"},
    OtherField{"flags", "mofedEnabled", "false"},
    OtherField{"flags", "useNodeFeatureAPI", any},
    OtherField{"flags", "deviceDiscoveryStrategy", "auto nvml"},
    OtherField{"flags.plugin", "cdiAnnotationPrefix", any},
    OtherField{"flags.plugin", "nvidiaCTKPath", any},
    OtherField{"flags.plugin", "containerDriverRoot", any},
    OtherField{"flags.gfd", "oneshot", "false"},
    OtherField{"flags.gfd", "noTimestamp", any},
    OtherField{"flags.gfd", "sleepInterval", any},
    OtherField{"flags.gfd", "outputFile", any},
    OtherField{"flags.gfd", "machineTypeFile", any},
    OtherField{"imex", "channelIDs", ""},
    OtherField{"imex", "required", "false"},
    OtherField{"resources", "gpus", ""},
    OtherField{"resources", "mig", ""},
};

/// Returns a value as a file has it; the elements of a list joined by ",".
std::string text_of(const Json& value) {
    std::vector<std::string> parts;
    for (const Json& one : value.is_array() ? value : Json::array({value}))
        parts.push_back(one.is_string() ? one.get<std::string>() : base::dump(one));
    return one_line(base::join(parts, ","));
}

bool is_same(const OtherField& field, const std::string& value) {
    return field.same == any || value.empty() || base::contains(base::split_words(field.same), value);
}

/// Checks a map of which all or all other fields are in other_fields.
void check_map_of(const Json& map, const std::string& path, std::vector<std::string> more,
                  FieldProblems& problems) {
    for (const OtherField& field : other_fields)
        if (field.map == path)
            more.emplace_back(field.key);
    if (!check_map(map, path, more, problems))
        return;
    for (const OtherField& field : other_fields) {
        const Json& value = field.map == path ? member(map, field.key) : member(Json(), "");
        if (value.is_null())
            continue;
        if (const std::string text = text_of(value); !is_same(field, text))
            problems.ignore(field_path(path, field.key), (value.is_structured() ? "" : "'" + text + "' ") +
                                                             std::string("has no effect here"));
    }
}

/// Returns the words of a strategy, or of a list of them; nullopt for another type. A comma is a part of a
/// word: the plugin splits only its option and its environment variable.
std::optional<std::vector<std::string>> words_of(const Json& value) {
    std::vector<std::string> words;
    for (const Json& one : value.is_array() ? value : Json::array({value})) {
        if (!one.is_string())
            return std::nullopt;
        words.push_back(one_line(one.get<std::string>()));
    }
    return words;
}

/// The plugin and the setting have different defaults. A file without the field asks for nothing.
void check_strategy(const Json& plugin, const ListStrategies& strategies, FieldProblems& problems) {
    constexpr const char* path = "flags.plugin.deviceListStrategy";
    const Json& value = member(plugin, "deviceListStrategy");
    if (value.is_null())
        return;
    const auto words = value.size() <= most_list_strategies ? words_of(value) : std::nullopt;
    if (!words)
        return problems.refuse(path, "must be a word or a list of at most " +
                                         std::to_string(most_list_strategies) +
                                         " words: " + list_strategy_names());
    const auto asked = list_strategies(*words);
    if (!asked)
        problems.refuse(path, list_strategies_mistake(*words));
    else if (*asked != strategies)
        problems.ignore(
            path,
            "is '" + base::join(*words, ",") +
                "', but section [Devices] has DeviceListStrategy=" + base::join(names_of(strategies), " "),
            "set DeviceListStrategy=" + base::join(names_of(*asked), " "));
}

/// Checks a field that a setting decides.
void check_setting(const Json& plugin, const char* field, const std::string& setting,
                   const std::string& value, const std::string& asked, FieldProblems& problems) {
    if (asked != value)
        problems.ignore(std::string("flags.plugin.") + field,
                        "is '" + text_of(member(plugin, field)) + "', but section [Devices] has " + setting +
                            "=" + value,
                        "set " + setting + "=" + asked);
}

void check_ids(const Json& plugin, const DevicesSettings& settings, FieldProblems& problems) {
    const Json& ids = member(plugin, "deviceIDStrategy");
    const auto strategy = ids.is_string() ? id_strategy(ids.get<std::string>()) : std::nullopt;
    if (strategy)
        check_setting(plugin, "deviceIDStrategy", "DeviceIDStrategy", std::string(name_of(settings.ids)),
                      std::string(name_of(*strategy)), problems);
    else if (!ids.is_null())
        problems.refuse("flags.plugin.deviceIDStrategy", "must be uuid or index");
    const Json& nodes = member(plugin, "passDeviceSpecs");
    if (nodes.is_boolean())
        check_setting(plugin, "passDeviceSpecs", "PassDeviceSpecs", settings.pass_nodes ? "yes" : "no",
                      nodes.get<bool>() ? "yes" : "no", problems);
    else if (!nodes.is_null())
        problems.refuse("flags.plugin.passDeviceSpecs", "must be true or false");
}

} // namespace

std::string one_line(std::string text) {
    if (text.size() > longest_quote) {
        std::size_t end = longest_quote;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) // within a character
            --end;
        text.resize(end);
        text += "…";
    }
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
    return text;
}

void FieldProblems::add(const std::string& path, const std::string& text, std::string hint, bool ignored) {
    if (problems_.size() >= most_problems && (ignored || is_refused_)) // a first refusal always counts
        return;
    is_refused_ = is_refused_ || !ignored;
    problems_.push_back({file_, static_cast<unsigned>(base::yaml_line(lines_, path)),
                         one_line(path) + (path.empty() ? "" : " ") + text, std::move(hint), ignored});
}

void FieldProblems::refuse(const std::string& path, const std::string& text, std::string hint) {
    add(path, text, std::move(hint), false);
}

void FieldProblems::ignore(const std::string& path, const std::string& text, std::string hint) {
    add(path, text, std::move(hint), true);
}

std::string field_path(const std::string& map, std::string_view key) {
    return map + (map.empty() ? "" : ".") + std::string(key);
}

bool check_map(const Json& value, const std::string& path, const std::vector<std::string>& known,
               FieldProblems& problems) {
    if (value.is_null())
        return true;
    if (!value.is_object()) {
        problems.refuse(path, path.empty() ? "the file is not a map" : "is not a map");
        return false;
    }
    bool all_known = true;
    for (const auto& [key, unused] : value.items()) {
        if (base::contains(known, key))
            continue;
        const std::string near = base::nearest(key, known);
        problems.refuse(field_path(path, key), "is not a field of NVIDIA's device plugin",
                        near.empty() ? "" : "did you mean '" + near + "'?");
        all_known = false;
    }
    return all_known;
}

void check_other_fields(const Json& config, const DevicesSettings& settings, FieldProblems& problems) {
    const Json& flags = member(config, "flags");
    check_map_of(flags, "flags", {"migStrategy", "plugin", "gfd"}, problems);
    check_map_of(
        member(flags, "plugin"), "flags.plugin",
        {"sharedDevicesAllocationPolicy", "deviceListStrategy", "deviceIDStrategy", "passDeviceSpecs"},
        problems);
    check_strategy(member(flags, "plugin"), settings.strategies, problems);
    check_ids(member(flags, "plugin"), settings, problems);
    check_map_of(member(flags, "gfd"), "flags.gfd", {}, problems);
    check_map_of(member(config, "imex"), "imex", {}, problems);
    check_map_of(member(config, "resources"), "resources", {}, problems);
}

} // namespace gpuhost::devices
