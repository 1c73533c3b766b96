// SPDX-License-Identifier: Apache-2.0
// The options of NVIDIA's config.toml in one table: keys, types, NVIDIA's defaults and choices. Users of the
// table are the defaults, checks of Options= in section [Toolkit], comparisons with other files, and the man
// page's test.
#pragma once

#include "daemon/base/json.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

enum class OptionType { Boolean, Text, List };

struct ToolkitOption {
    std::string_view key; ///< including its tables: "nvidia-container-cli.no-cgroups"
    OptionType type = OptionType::Text;
    std::string_view fallback; ///< default in the syntax of Options=: list elements separated by commas
    std::string_view choices;  ///< of a Text, separated by blanks; empty: any
};

[[nodiscard]] std::span<const ToolkitOption> toolkit_options();
[[nodiscard]] const ToolkitOption* find_toolkit_option(std::string_view key);

/// Parses "KEY=VALUE" into a value for the document. Fails with InvalidArgument if the option does not exist
/// or does not accept the value.
struct OptionValue {
    const ToolkitOption* option = nullptr;
    base::Json value;
};
[[nodiscard]] base::Result<OptionValue> parse_toolkit_option(std::string_view word);

/// Returns config.toml's document with all options set to NVIDIA's defaults.
[[nodiscard]] base::Json default_toolkit_config();
void set_option(base::Json& document, std::string_view key, base::Json value);
/// Returns null if the option is not set.
[[nodiscard]] const base::Json& get_option(const base::Json& document, std::string_view key);

/// An option with another value in another program's file.
struct OptionDifference {
    std::string key;
    base::Json theirs; ///< NVIDIA's default if their file does not set it
    base::Json ours;
};
[[nodiscard]] std::vector<OptionDifference> compare_toolkit_configs(const base::Json& theirs,
                                                                    const base::Json& ours);

} // namespace gpuhost::runtime
