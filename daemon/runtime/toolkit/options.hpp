// SPDX-License-Identifier: Apache-2.0
// The options of NVIDIA's config.toml: one table says which there are, of which type, what NVIDIA's tools take where the file is
// silent, and what they mean. Defaults, checks of Options= in section [Toolkit], comparisons with other people's files and the
// man page's test read it.
#pragma once

#include "daemon/base/json.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

enum class OptionType { Boolean, Text, List };

struct ToolkitOption {
    std::string_view key; ///< "nvidia-container-cli.no-cgroups": with its tables
    OptionType type = OptionType::Text;
    std::string_view fallback; ///< as Options= has it: a list's elements with commas between them
    std::string_view choices;  ///< of a text, with blanks; empty: any
};

[[nodiscard]] std::span<const ToolkitOption> toolkit_options();
[[nodiscard]] const ToolkitOption* find_toolkit_option(std::string_view key);

/// "KEY=VALUE" as a value of the document. InvalidArgument: no such option, or none of its values.
struct OptionValue {
    const ToolkitOption* option = nullptr;
    base::Json value;
};
[[nodiscard]] base::Result<OptionValue> parse_toolkit_option(std::string_view word);

/// All options with NVIDIA's defaults, as config.toml's document.
[[nodiscard]] base::Json default_toolkit_config();
void set_option(base::Json& document, std::string_view key, base::Json value);
/// null where it is not there.
[[nodiscard]] const base::Json& get_option(const base::Json& document, std::string_view key);

/// One option that has another value in a file of somebody else.
struct OptionDifference {
    std::string key;
    base::Json theirs; ///< also where their file is silent: then it is NVIDIA's default
    base::Json ours;
};
[[nodiscard]] std::vector<OptionDifference> compare_toolkit_configs(const base::Json& theirs,
                                                                    const base::Json& ours);

} // namespace gpuhost::runtime
