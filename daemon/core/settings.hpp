// SPDX-License-Identifier: Apache-2.0
// Loads gpuhostd.conf and its drop-ins as systemd does (systemd.syntax(7), "configuration files and
// drop-ins").
//
// The main file is the first gpuhostd.conf in /etc/gpuhost, /run/gpuhost, /usr/local/lib/gpuhost and
// /usr/lib/gpuhost. All gpuhostd.conf.d/*.conf in these directories follow, in order of file name. The same
// name in an earlier directory masks the later one; a link to /dev/null disables a name. Subsystems declare
// their keys; any other key is rejected.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::core {

enum class SettingType { String, Boolean, Span, Unsigned, Choice, Words, DriverVersion, ToolkitVersion };

struct SettingKey {
    std::string_view section; ///< "Driver"
    std::string_view key;     ///< "HolderPolicy"
    SettingType type = SettingType::String;
    std::string_view fallback; ///< the default, in the file's syntax
    std::string_view choices;  ///< for Choice: "refuse wait terminate"
    std::string_view summary;  ///< one phrase, for the file of defaults (systemd/gpuhostd.conf)
    std::string_view also{};   ///< a second spelling of the key; empty: none
};

/// One value and its source.
struct Setting {
    const SettingKey* key = nullptr;
    std::string value;
    std::string source; ///< "/etc/gpuhost/gpuhostd.conf:3", or "default"
};

class Settings {
  public:
    /// Sets all keys to their defaults. `keys` must outlive the Settings.
    explicit Settings(const std::vector<std::span<const SettingKey>>& keys);

    [[nodiscard]] std::string string(std::string_view section, std::string_view key) const;
    [[nodiscard]] bool boolean(std::string_view section, std::string_view key) const;
    [[nodiscard]] std::chrono::milliseconds span(std::string_view section, std::string_view key) const;
    [[nodiscard]] std::uint64_t number(std::string_view section, std::string_view key) const;
    [[nodiscard]] std::vector<std::string> words(std::string_view section, std::string_view key) const;
    [[nodiscard]] const Setting& get(std::string_view section, std::string_view key) const;
    /// Returns null for an unknown key.
    [[nodiscard]] const Setting* find(std::string_view section, std::string_view key) const;
    [[nodiscard]] const std::vector<Setting>& all() const { return settings_; }
    /// Returns {"Driver": {"HolderPolicy": "refuse", …}} with the values as written. Workers receive this
    /// object.
    [[nodiscard]] base::Json to_json() const;

    /// Sets one value. An empty one empties a list (Words) and resets any other key to its default. Fails
    /// without a change: with NotFound for an unknown key, with InvalidArgument for a value of the wrong
    /// type.
    [[nodiscard]] base::Result<void> set(std::string_view section, std::string_view key, std::string value,
                                         std::string source);

  private:
    /// Returns a NotFound error with the nearest known name as its hint.
    [[nodiscard]] base::Error unknown(std::string_view section, std::string_view key) const;

    std::vector<Setting> settings_;
};

struct SettingsFile {
    std::string path;
    std::string content;
    std::string problem; ///< why it could not be read; empty otherwise
};

/// Returns the files in effect, lowest precedence first: what `gpuhostctl cat-config` prints.
[[nodiscard]] std::vector<SettingsFile> settings_files(const base::Root& root);

struct LoadedSettings {
    Settings settings;
    std::vector<std::string> problems; ///< "/etc/…:3: unknown key 'Foo' in [Driver], ignoring"
    /// Keys for which the last value in the files is invalid. When a running daemon reloads, it keeps their
    /// current values.
    std::vector<const SettingKey*> rejected;
};

/// Loads all files. Never fails: an invalid value, line or file is added to `problems`, and the previous
/// value stays.
[[nodiscard]] LoadedSettings load_settings(const base::Root& root,
                                           const std::vector<std::span<const SettingKey>>& keys);

} // namespace gpuhost::core
