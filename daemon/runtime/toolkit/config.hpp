// SPDX-License-Identifier: Apache-2.0
// NVIDIA's config.toml as gpuhost writes it. Every option has NVIDIA's default, a path in gpuhost's toolkit,
// or its value from section [Toolkit].
//
// gpuhost never touches a file without its mark; such a file takes precedence.
#pragma once

#include "daemon/runtime/toolkit/choice.hpp"
#include "daemon/runtime/toolkit/options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

inline constexpr std::string_view toolkit_config_path = "/etc/nvidia-container-runtime/config.toml";

/// Facts of a host that NVIDIA's defaults depend on.
struct ToolkitFacts {
    bool has_real_ldconfig = false; ///< /sbin/ldconfig is a script; the program has another name
    bool is_suse = false;
    std::string libraries; ///< path relative to the toolkit; empty: none
    /// Programs of the toolkit. NVIDIA's defaults apply to others.
    std::vector<std::string> programs = {};
    bool has_cli = false; ///< nvidia-container-cli is in the toolkit or on the host
};
[[nodiscard]] ToolkitFacts toolkit_facts(const base::Root& root, const ToolkitSet& set);

struct ToolkitConfig {
    base::Json document;
    std::vector<std::string> problems; ///< sentences about ignored options
};
[[nodiscard]] ToolkitConfig make_toolkit_config(const ToolkitSettings& settings, const ToolkitFacts& facts);
/// Returns the file's text, including gpuhost's mark.
[[nodiscard]] std::string toolkit_config_text(const base::Json& document);

enum class ConfigState {
    None,
    Ours,     ///< current
    Outdated, ///< gpuhost's, but not current
    Other,    ///< not gpuhost's
};
[[nodiscard]] std::string_view name_of(ConfigState state);
/// Compares the file with `wanted`. Reads only as much as it compares, because the file may be another
/// program's.
[[nodiscard]] ConfigState toolkit_config_state(const base::Root& root, std::string_view wanted);

/// Returns options with other values in another program's file: "KEY is VALUE there, and VALUE in section
/// [Toolkit]". Parses that file, so the daemon must not call it.
[[nodiscard]] base::Result<std::vector<std::string>> others_options(const base::Root& root,
                                                                    const base::Json& ours);

} // namespace gpuhost::runtime
