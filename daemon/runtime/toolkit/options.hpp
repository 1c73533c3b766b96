// SPDX-License-Identifier: Apache-2.0
// The options of NVIDIA's config.toml in one table: keys, types, NVIDIA's defaults and choices. gpuhost uses
// this table to write defaults, to check Options= in section [Toolkit] and to compare other programs' files.
// A test compares the man page with this table.
#pragma once

#include "daemon/base/json.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

enum class OptionType { Boolean, Text, List };

struct ToolkitOption {
    std::string_view key; ///< with the names of its tables: "nvidia-container-cli.no-cgroups"
    OptionType type = OptionType::Text;
    /// NVIDIA's default in the syntax of Options=: list elements separated by commas.
    std::string_view fallback;
    std::string_view choices; ///< choices of a Text, separated by blanks; empty: any text
};

[[nodiscard]] std::span<const ToolkitOption> toolkit_options();
/// Returns nullptr for an unknown key.
[[nodiscard]] const ToolkitOption* find_toolkit_option(std::string_view key);

struct OptionValue {
    const ToolkitOption* option = nullptr;
    base::Json value;
};
/// Parses "KEY=VALUE". Fails with InvalidArgument if the option does not exist or does not accept the value.
[[nodiscard]] base::Result<OptionValue> parse_toolkit_option(std::string_view word);

/// Returns the document of config.toml with NVIDIA's defaults for all options.
[[nodiscard]] base::Json default_toolkit_config();
/// Sets an option in the document of config.toml.
void set_option(base::Json& document, std::string_view key, base::Json value);
/// Returns a null value if the option is not set.
[[nodiscard]] const base::Json& get_option(const base::Json& document, std::string_view key);

/// An option that another program's file sets differently.
struct OptionDifference {
    std::string key;
    base::Json theirs; ///< the value in the other file; NVIDIA's default if it sets none
    base::Json ours;
};
[[nodiscard]] std::vector<OptionDifference> compare_toolkit_configs(const base::Json& theirs,
                                                                    const base::Json& ours);

} // namespace gpuhost::runtime
