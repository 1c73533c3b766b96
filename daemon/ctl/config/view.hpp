// SPDX-License-Identifier: Apache-2.0
// Renders settings and mistakes in them, as text and as JSON.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/core/settings.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

using ShownSettings = std::vector<const core::Setting*>;

/// Returns [{"section", "key", "value", "default", "changed", "source"}].
[[nodiscard]] base::Json settings_json(const ShownSettings& settings);
/// Returns a file in the syntax of gpuhostd.conf(5). Settings that no file sets are commented out. A comment
/// above each other setting names the source and the default.
[[nodiscard]] std::string render_settings(const Screen& screen, const ShownSettings& settings);

/// Returns {"files": [path], "problems": [{"file", "line", "text", "hint"}]}.
[[nodiscard]] base::Json check_json(const std::vector<core::SettingsFile>& files,
                                    const std::vector<core::SettingsProblem>& problems);
/// Returns one line for each mistake: "FILE:LINE: text (hint)".
[[nodiscard]] std::string render_problems(const std::vector<core::SettingsProblem>& problems);

} // namespace gpuhost::ctl
