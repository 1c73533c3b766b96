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
#include <optional>
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
    /// Returns why a value of the right type is a mistake; empty if it is none. Such a value is reported, but
    /// takes effect: the component that uses it decides what to do. null: every value of the type is valid.
    std::string (*mistake)(std::string_view value) = nullptr;
};

/// The source of a value that no file sets.
inline constexpr std::string_view default_source = "default";

/// One value and its source.
struct Setting {
    const SettingKey* key = nullptr;
    std::string value;
    std::string source; ///< "/etc/gpuhost/gpuhostd.conf:3", default_source, or cluster_policy_source

    /// Returns true if the value means the same as the default: "true" and "yes" are one boolean.
    [[nodiscard]] bool is_default() const;
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
    [[nodiscard]] bool has_section(std::string_view section) const;
    /// Returns the NotFound error for a name that find() does not know, with the nearest known name as its
    /// hint, such as "did you mean 'Flavour'?".
    [[nodiscard]] base::Error unknown(std::string_view section, std::string_view key) const;
    /// Returns {"Driver": {"HolderPolicy": "refuse", …}} with the values as written. Workers receive this
    /// object.
    [[nodiscard]] base::Json to_json() const;

    /// Sets one value. An empty one empties a list (Words) and resets any other key to its default. Fails
    /// without a change: with NotFound for an unknown key, with InvalidArgument for a value of the wrong
    /// type.
    [[nodiscard]] base::Result<void> set(std::string_view section, std::string_view key, std::string value,
                                         std::string source);

  private:
    std::vector<Setting> settings_;
};

struct SettingsFile {
    std::string path;
    std::string content;
    std::optional<base::Error> error{}; ///< why it could not be read
};

/// Returns the files in effect, lowest precedence first: what `gpuhostctl config cat` prints.
[[nodiscard]] std::vector<SettingsFile> settings_files(const base::Root& root);

/// A mistake in a file of settings.
struct SettingsProblem {
    std::string file;
    unsigned line = 0;   ///< 1-based; 0: the whole file
    std::string text;    ///< "unknown key 'Foo' in [Driver]"
    std::string hint;    ///< "did you mean 'Flavour'?"; may be empty
    bool ignored = true; ///< the line, or the file, has no effect

    [[nodiscard]] std::string place() const; ///< "/etc/gpuhost/gpuhostd.conf:3"
};

/// Returns one line, as the journal and `gpuhostctl reload` show it: "/etc/…:3: unknown key 'Foo' in
/// [Driver], ignoring (did you mean 'Flavour'?)".
[[nodiscard]] std::string to_string(const SettingsProblem& problem);

struct LoadedSettings {
    Settings settings;
    std::vector<SettingsProblem> problems; ///< in the order of the files and their lines
    /// Keys for which the last value in the files is invalid.
    std::vector<const SettingKey*> rejected;
};

/// Loads the files in this order. Never fails: an invalid value, line or file is added to `problems`, and the
/// previous value stays.
[[nodiscard]] LoadedSettings load_settings(const std::vector<SettingsFile>& files,
                                           const std::vector<std::span<const SettingKey>>& keys);
/// Loads all files of a host.
[[nodiscard]] LoadedSettings load_settings(const base::Root& root,
                                           const std::vector<std::span<const SettingKey>>& keys);
/// Loads all files of a host again. A rejected key keeps its value in `current`.
[[nodiscard]] LoadedSettings reload_settings(const base::Root& root,
                                             const std::vector<std::span<const SettingKey>>& keys,
                                             const Settings& current);

} // namespace gpuhost::core
