// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/settings.hpp"

#include "daemon/base/ini.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/nearest.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/core/cluster_desired.hpp"
#include "daemon/core/former_names.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

namespace gpuhost::core {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;

namespace {

constexpr std::array<std::string_view, 4> directories{"/etc/gpuhost", "/run/gpuhost",
                                                      "/usr/local/lib/gpuhost", "/usr/lib/gpuhost"};
constexpr std::string_view file_name = "/gpuhostd.conf";

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

bool is_masked(const Root& root, const std::string& path) {
    const auto target = root.read_link(path);
    return target && *target == "/dev/null";
}

void add_file(const Root& root, const std::string& path, std::vector<SettingsFile>& files) {
    if (is_masked(root, path))
        return;
    auto content = root.read(path, base::ini_size_limit);
    files.push_back({path, content.value_or(""), content ? "" : content.error().message});
}

void note_rejected(LoadedSettings& loaded, const base::IniEntry& entry, const Result<void>& set) {
    if (!set && set.error().code == Errc::NotFound)
        return; // no such key
    const SettingKey* key = loaded.settings.find(entry.section, entry.key)->key;
    loaded.rejected.erase(std::remove(loaded.rejected.begin(), loaded.rejected.end(), key),
                          loaded.rejected.end());
    if (!set)
        loaded.rejected.push_back(key);
}

} // namespace

Settings::Settings(const std::vector<std::span<const SettingKey>>& keys) {
    for (const auto& group : keys)
        for (const SettingKey& key : group)
            settings_.push_back({&key, std::string(key.fallback), "default"});
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

base::Error Settings::unknown(std::string_view section, std::string_view key) const {
    std::vector<std::string> sections;
    std::vector<std::string> keys;
    std::string home; // another section that has the key
    for (const Setting& setting : settings_) {
        sections.emplace_back(setting.key->section);
        if (setting.key->section == section)
            keys.emplace_back(setting.key->key);
        else if (setting.key->key == key)
            home = setting.key->section;
    }
    if (keys.empty()) {
        const std::string near = base::nearest(section, sections);
        return {Errc::NotFound, "unknown section [" + std::string(section) + "]",
                near.empty() ? "" : "did you mean [" + near + "]?"};
    }
    const std::string near = base::nearest(key, keys);
    return {Errc::NotFound, "unknown key '" + std::string(key) + "' in [" + std::string(section) + "]",
            !near.empty()   ? "did you mean '" + near + "'?"
            : !home.empty() ? "it belongs in [" + home + "]"
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
    Setting& setting = settings_[static_cast<std::size_t>(found - settings_.data())];
    if (const std::string why = value.empty() ? "" : mismatch(*setting.key, value); !why.empty())
        return base::fail(Errc::InvalidArgument, std::string(key) + "='" + value + "': " + why);
    const bool resets = value.empty() && setting.key->type != SettingType::Words;
    setting.value = resets ? std::string(setting.key->fallback) : std::move(value);
    setting.source = std::move(source);
    return {};
}

std::vector<SettingsFile> settings_files(const Root& root) {
    std::vector<SettingsFile> files;
    if (root.exists(cluster_desired_file))
        add_file(root, std::string(cluster_desired_file), files);
    for (const std::string_view directory : directories) {
        const std::string path = std::string(directory) + std::string(file_name);
        if (!root.exists(path))
            continue;
        add_file(root, path, files);
        break;
    }
    // Maps a name to its path. emplace() keeps the path of the first directory; the map sorts by name.
    std::map<std::string, std::string> drop_ins;
    for (const std::string_view directory : directories) {
        const std::string path = std::string(directory) + std::string(file_name) + ".d";
        const auto names = root.list(path);
        if (!names)
            continue;
        for (const std::string& name : *names)
            if (base::ends_with(name, ".conf"))
                drop_ins.emplace(name, path + "/" + name);
    }
    for (const auto& [name, path] : drop_ins)
        add_file(root, path, files);
    return files;
}

LoadedSettings load_settings(const Root& root, const std::vector<std::span<const SettingKey>>& keys) {
    LoadedSettings loaded{Settings(keys), {}, {}};
    for (const SettingsFile& file : settings_files(root)) {
        if (!file.problem.empty())
            loaded.problems.push_back(file.problem + ", ignoring the file");
        const base::IniFile ini = base::parse_ini(file.content);
        for (const std::string& problem : ini.problems)
            loaded.problems.push_back(file.path + ": " + problem);
        for (const base::IniEntry& entry : ini.entries) {
            const std::string source = file.path == cluster_desired_file
                                           ? std::string(cluster_policy_source)
                                           : file.path + ":" + std::to_string(entry.line);
            const auto set = loaded.settings.set(entry.section, entry.key, entry.value, source);
            if (!set)
                loaded.problems.push_back(source + ": " + set.error().message + ", ignoring" +
                                          (set.error().hint.empty() ? "" : " (" + set.error().hint + ")"));
            note_rejected(loaded, entry, set);
        }
    }
    return loaded;
}

} // namespace gpuhost::core
