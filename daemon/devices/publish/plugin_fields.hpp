// SPDX-License-Identifier: Apache-2.0
// Checks the fields of a configuration file, and collects the mistakes with their lines.
#pragma once

#include "daemon/base/yaml.hpp"
#include "daemon/core/settings.hpp"
#include "daemon/devices/publish/devices_settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

/// Returns the text for a message: cut, and without characters that would not be on one line.
[[nodiscard]] std::string one_line(std::string text);

class FieldProblems {
  public:
    /// `lines` must outlive the object.
    FieldProblems(std::string file, const base::YamlLines& lines) : file_(std::move(file)), lines_(lines) {}

    /// Adds a mistake for which the whole file is refused.
    void refuse(const std::string& path, const std::string& text, std::string hint = "");
    /// Adds a mistake that has no effect but this message.
    void ignore(const std::string& path, const std::string& text, std::string hint = "");
    [[nodiscard]] const std::vector<core::SettingsProblem>& all() const { return problems_; }
    [[nodiscard]] bool is_refused() const { return is_refused_; }

  private:
    void add(const std::string& path, const std::string& text, std::string hint, bool ignored);
    std::string file_;
    const base::YamlLines& lines_;
    std::vector<core::SettingsProblem> problems_;
    bool is_refused_ = false;
};

/// Returns true for a map with no other keys than `known`, and for null. Refuses anything else. `path` is
/// that of the map, and "" for the document.
bool check_map(const base::Json& value, const std::string& path, const std::vector<std::string>& known,
               FieldProblems& problems);

/// Returns the path of a member.
[[nodiscard]] std::string field_path(const std::string& map, std::string_view key);

/// Checks the fields "flags", "imex" and "resources" of a configuration of NVIDIA's device plugin, which
/// have no effect here: names those that ask for something else than gpuhostd and its settings do.
void check_other_fields(const base::Json& config, const DevicesSettings& settings, FieldProblems& problems);

} // namespace gpuhost::devices
