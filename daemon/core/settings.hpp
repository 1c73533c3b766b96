// SPDX-License-Identifier: Apache-2.0
// gpuhostd.conf and its drop-ins, as systemd reads its own (systemd.syntax(7), "configuration files and
// drop-ins").
//
// Main file: the first of /etc/gpuhost, /run/gpuhost, /usr/local/lib/gpuhost, /usr/lib/gpuhost
// /gpuhostd.conf. Then all gpuhostd.conf.d/*.conf of these directories in order of file name; the same name
// in an earlier directory masks the later one; a link to /dev/null switches a name off. Rooms declare their
// keys; nothing else is accepted.
#pragma once

#include "daemon/base/json.hpp"
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
    std::string_view fallback; ///< in the syntax of the file
    std::string_view choices;  ///< for Choice: "refuse wait terminate"
    std::string_view summary;  ///< one phrase, for completion and the man page's test
};

/// One value and where it came from.
struct Setting {
    const SettingKey* key = nullptr;
    std::string value;
    std::string source; ///< "/etc/gpuhost/gpuhostd.conf:3", or "default"
};

class Settings {
  public:
    /// `keys` must outlive the Settings. Only defaults.
    explicit Settings(const std::vector<std::span<const SettingKey>>& keys);

    [[nodiscard]] std::string string(std::string_view section, std::string_view key) const;
    [[nodiscard]] bool boolean(std::string_view section, std::string_view key) const;
    [[nodiscard]] std::chrono::milliseconds span(std::string_view section, std::string_view key) const;
    [[nodiscard]] std::uint64_t number(std::string_view section, std::string_view key) const;
    [[nodiscard]] std::vector<std::string> words(std::string_view section, std::string_view key) const;
    [[nodiscard]] const Setting& get(std::string_view section, std::string_view key) const;
    [[nodiscard]] const std::vector<Setting>& all() const { return settings_; }
    /// {"Driver": {"HolderPolicy": "refuse", …}}: values as written; what workers get.
    [[nodiscard]] base::Json to_json() const;

    /// Sets one value, an empty one to the default; a value of the wrong type changes nothing and is an
    /// Error.
    [[nodiscard]] base::Result<void> set(std::string_view section, std::string_view key, std::string value,
                                         std::string source);

  private:
    std::vector<Setting> settings_;
};

struct SettingsFile {
    std::string path;
    std::string content;
    std::string problem; ///< why it could not be read; empty otherwise
};

/// The files that apply, lowest precedence first: what `gpuhostctl cat-config` prints.
[[nodiscard]] std::vector<SettingsFile> settings_files(const base::Root& root);

struct LoadedSettings {
    Settings settings;
    std::vector<std::string> problems; ///< "/etc/…:3: unknown key 'Foo' in [Driver], ignoring"
    std::vector<const SettingKey*>
        rejected; ///< the last value given to them is bad: a running daemon keeps its own
};

/// Never fails: a bad value, line or file is a problem and leaves what stood before it.
[[nodiscard]] LoadedSettings load_settings(const base::Root& root,
                                           const std::vector<std::span<const SettingKey>>& keys);

} // namespace gpuhost::core
