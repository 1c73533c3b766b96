// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/ini.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/core/cluster_desired.hpp"
#include "daemon/core/settings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace gpuhost::core {

using base::Result;
using base::Root;

namespace {

constexpr std::array<std::string_view, 4> directories{"/etc/gpuhost", "/run/gpuhost",
                                                      "/usr/local/lib/gpuhost", "/usr/lib/gpuhost"};
constexpr std::string_view file_name = "/gpuhostd.conf";

bool is_masked(const Root& root, const std::string& path) {
    const auto target = root.read_link(path);
    return target && *target == "/dev/null";
}

void add_file(const Root& root, const std::string& path, std::vector<SettingsFile>& files) {
    if (is_masked(root, path))
        return;
    auto content = root.read(path, base::ini_size_limit);
    if (content)
        files.push_back({path, *std::move(content)});
    else
        files.push_back({path, "", content.error()});
}

std::string source_of(const SettingsFile& file, unsigned line) {
    return file.path == cluster_desired_file ? std::string(cluster_policy_source)
                                             : file.path + ":" + std::to_string(line);
}

/// Returns the error's message without the path, which precedes it in the errors of Root.
std::string without_path(const SettingsFile& file) {
    const std::string prefix = file.path + ": ";
    const std::string& message = file.error->message;
    return base::starts_with(message, prefix) ? message.substr(prefix.size()) : message;
}

void load_entry(LoadedSettings& loaded, const SettingsFile& file, const base::IniEntry& entry) {
    const auto set = loaded.settings.set(entry.section, entry.key, entry.value, source_of(file, entry.line));
    if (!set)
        loaded.problems.push_back({file.path, entry.line, set.error().message, set.error().hint});
    const Setting* const setting = loaded.settings.find(entry.section, entry.key);
    if (setting == nullptr)
        return;
    std::erase(loaded.rejected, setting->key);
    if (!set)
        loaded.rejected.push_back(setting->key);
    else if (setting->key->mistake != nullptr)
        if (const std::string why = setting->key->mistake(setting->value); !why.empty())
            loaded.problems.push_back({file.path, entry.line, entry.key + "=: " + why, "", false});
}

void load_section(LoadedSettings& loaded, const SettingsFile& file, const base::IniFile& ini,
                  const base::IniSection& section) {
    if (!loaded.settings.has_section(section.name)) {
        const base::Error error = loaded.settings.unknown(section.name, "");
        loaded.problems.push_back({file.path, section.line, error.message, error.hint});
        return;
    }
    for (const base::IniEntry& entry : ini.entries_of(section))
        load_entry(loaded, file, entry);
}

void load_file(LoadedSettings& loaded, const SettingsFile& file) {
    const auto earlier = static_cast<std::ptrdiff_t>(loaded.problems.size());
    if (file.error)
        loaded.problems.push_back({file.path, 0, without_path(file), ""});
    const base::IniFile ini = base::parse_ini(file.content);
    for (const base::IniProblem& problem : ini.problems)
        loaded.problems.push_back({file.path, problem.line, problem.text, ""});
    for (const base::IniSection& section : ini.sections)
        load_section(loaded, file, ini, section);
    std::stable_sort(loaded.problems.begin() + earlier, loaded.problems.end(),
                     [](const SettingsProblem& a, const SettingsProblem& b) { return a.line < b.line; });
}

} // namespace

std::string SettingsProblem::place() const {
    return line == 0 ? file : file + ":" + std::to_string(line);
}

std::string to_string(const SettingsProblem& problem) {
    const char* const effect = !problem.ignored    ? ""
                               : problem.line == 0 ? ", ignoring the file"
                                                   : ", ignoring";
    return problem.place() + ": " + problem.text + effect +
           (problem.hint.empty() ? "" : " (" + problem.hint + ")");
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

LoadedSettings load_settings(const std::vector<SettingsFile>& files,
                             const std::vector<std::span<const SettingKey>>& keys) {
    LoadedSettings loaded{Settings(keys), {}, {}};
    for (const SettingsFile& file : files)
        load_file(loaded, file);
    return loaded;
}

LoadedSettings load_settings(const Root& root, const std::vector<std::span<const SettingKey>>& keys) {
    return load_settings(settings_files(root), keys);
}

LoadedSettings reload_settings(const Root& root, const std::vector<std::span<const SettingKey>>& keys,
                               const Settings& current) {
    LoadedSettings loaded = load_settings(root, keys);
    for (const SettingKey* key : loaded.rejected) {
        const Setting& kept = current.get(key->section, key->key);
        (void)loaded.settings.set(key->section, key->key, kept.value, kept.source);
    }
    return loaded;
}

} // namespace gpuhost::core
