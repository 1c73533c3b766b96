// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/settings.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/nearest.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/core/former_names.hpp"

#include <algorithm>
#include <cstdlib>

namespace gpuhost::core {

using base::Errc;
using base::Json;
using base::Result;

namespace {

/// Returns why the value does not fit the key's type; an empty string if it does.
std::string mismatch(const SettingKey& key, std::string_view value) {
    switch (key.type) {
    case SettingType::Boolean:
        return base::parse_bool(value) ? "" : "not a boolean (yes, no)";
    case SettingType::Span:
        return base::parse_span(value) ? "" : "not a time span (as '30s', '5min')";
    case SettingType::Unsigned:
        return base::parse_uint(value) ? "" : "not a number";
    case SettingType::DriverVersion:
        return value.empty() || base::is_driver_version(value) || value == "off" || value == "preinstalled"
                   ? ""
                   : "not off, preinstalled or a driver version (as '550.163.01')";
    case SettingType::ToolkitVersion:
        return base::is_toolkit_version(value) || value == "auto" || value == "off" || value == "preinstalled"
                   ? ""
                   : "not auto, off, preinstalled or a version (as '1.18.1')";
    case SettingType::Choice: {
        const auto choices = base::split_words(key.choices);
        return std::find(choices.begin(), choices.end(), value) != choices.end()
                   ? ""
                   : "not one of: " + base::join(choices, ", ");
    }
    case SettingType::String:
    case SettingType::Words:
        return "";
    }
    return "";
}

std::string nearest_choice(const SettingKey& key, std::string_view value) {
    const std::string near = base::nearest(value, base::split_words(key.choices));
    return near.empty() ? "" : "did you mean '" + near + "'?";
}

/// Returns the value in one spelling of all that mean the same.
std::string normalized(SettingType type, const std::string& value) {
    switch (type) {
    case SettingType::Boolean:
        return base::parse_bool(value).value_or(false) ? "yes" : "no";
    case SettingType::Span:
        return std::to_string(base::parse_span(value).value_or(std::chrono::milliseconds(0)).count());
    case SettingType::Unsigned:
        return std::to_string(base::parse_uint(value).value_or(0));
    case SettingType::Words:
        return base::join(base::split_words(value), " ");
    default:
        return value;
    }
}

} // namespace

bool Setting::is_default() const {
    return normalized(key->type, value) == normalized(key->type, std::string(key->fallback));
}

Settings::Settings(const std::vector<std::span<const SettingKey>>& keys) {
    for (const auto& group : keys)
        for (const SettingKey& key : group)
            settings_.push_back({&key, std::string(key.fallback), std::string(default_source)});
}

const Setting& Settings::get(std::string_view section, std::string_view key) const {
    const Setting* setting = find(section, key);
    if (setting == nullptr)
        std::abort(); // undeclared key: a programming error, found by the first test that reads it
    return *setting;
}

const Setting* Settings::find(std::string_view section, std::string_view key) const {
    key = present_key(section, key);
    const auto it = std::find_if(settings_.begin(), settings_.end(), [&](const Setting& setting) {
        return setting.key->section == section &&
               (setting.key->key == key || (!key.empty() && setting.key->also == key));
    });
    return it == settings_.end() ? nullptr : &*it;
}

bool Settings::has_section(std::string_view section) const {
    return std::any_of(settings_.begin(), settings_.end(),
                       [&](const Setting& setting) { return setting.key->section == section; });
}

base::Error Settings::unknown(std::string_view section, std::string_view key) const {
    std::vector<std::string> sections;
    std::vector<std::string> keys;
    std::vector<std::string> homes; // other sections that have the key
    for (const Setting& setting : settings_) {
        sections.emplace_back(setting.key->section);
        if (setting.key->section == section)
            keys.emplace_back(setting.key->key);
        else if (setting.key->key == key)
            homes.push_back("[" + std::string(setting.key->section) + "]");
    }
    if (keys.empty()) {
        const std::string near = base::nearest(section, sections);
        return {Errc::NotFound, "unknown section [" + std::string(section) + "]",
                near.empty() ? "" : "did you mean [" + near + "]?"};
    }
    const std::string near = base::nearest(key, keys);
    return {Errc::NotFound, "unknown key '" + std::string(key) + "' in [" + std::string(section) + "]",
            !homes.empty()  ? "it belongs in " + base::join(homes, " or ")
            : !near.empty() ? "did you mean '" + near + "'?"
                            : ""};
}

std::string Settings::string(std::string_view section, std::string_view key) const {
    return get(section, key).value;
}

bool Settings::boolean(std::string_view section, std::string_view key) const {
    return base::parse_bool(get(section, key).value).value_or(false);
}

std::chrono::milliseconds Settings::span(std::string_view section, std::string_view key) const {
    return base::parse_span(get(section, key).value).value_or(std::chrono::milliseconds(0));
}

std::uint64_t Settings::number(std::string_view section, std::string_view key) const {
    return base::parse_uint(get(section, key).value).value_or(0);
}

std::vector<std::string> Settings::words(std::string_view section, std::string_view key) const {
    return base::split_words(get(section, key).value);
}

Json Settings::to_json() const {
    Json value = Json::object();
    for (const Setting& setting : settings_)
        value[std::string(setting.key->section)][std::string(setting.key->key)] = setting.value;
    return value;
}

Result<void> Settings::set(std::string_view section, std::string_view key, std::string value,
                           std::string source) {
    const Setting* found = find(section, key);
    if (found == nullptr)
        return base::fail(unknown(section, key));
    if (!base::is_utf8(value)) // D-Bus could not carry an error that quotes it
        return base::fail(Errc::InvalidArgument, std::string(key) + "=: not UTF-8");
    Setting& setting = settings_[static_cast<std::size_t>(found - settings_.data())];
    if (const std::string why = value.empty() ? "" : mismatch(*setting.key, value); !why.empty())
        return base::fail(Errc::InvalidArgument, std::string(key) + "='" + value + "': " + why,
                          nearest_choice(*setting.key, value));
    const bool resets = value.empty() && setting.key->type != SettingType::Words;
    setting.value = resets ? std::string(setting.key->fallback) : std::move(value);
    setting.source = std::move(source);
    return {};
}

} // namespace gpuhost::core
