// SPDX-License-Identifier: Apache-2.0
// NVIDIA's config.toml as gpuhost writes it: every option, with NVIDIA's default, with the place of our toolkit, or as
// section [Toolkit] has it.
//
// A file there without our mark is somebody else's, and stays: then that one has the last word.
#pragma once

#include "daemon/runtime/toolkit/choice.hpp"
#include "daemon/runtime/toolkit/options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

inline constexpr std::string_view toolkit_config_path = "/etc/nvidia-container-runtime/config.toml";

/// What of a host NVIDIA's defaults depend on.
struct ToolkitFacts {
    bool has_real_ldconfig = false; ///< /sbin/ldconfig is a script, and the program has another name
    bool is_suse = false;
    std::string libraries; ///< below the toolkit's directory; empty: none
    std::vector<std::string> programs =
        {};               ///< of the toolkit: what else is called is looked for by NVIDIA's defaults
    bool has_cli = false; ///< nvidia-container-cli is in it, or on the host
};
[[nodiscard]] ToolkitFacts toolkit_facts(const base::Root& root, const ToolkitSet& set);

struct ToolkitConfig {
    base::Json document;
    std::vector<std::string> problems; ///< options that are passed over, as sentences
};
[[nodiscard]] ToolkitConfig make_toolkit_config(const ToolkitSettings& settings, const ToolkitFacts& facts);
/// With our mark.
[[nodiscard]] std::string toolkit_config_text(const base::Json& document);

enum class ConfigState {
    None,
    Ours,     ///< as it is to be
    Outdated, ///< ours, and not as it is to be
    Other,    ///< somebody else's
};
[[nodiscard]] std::string_view name_of(ConfigState state);
/// Reads no more than what it compares: it may be another's.
[[nodiscard]] ConfigState toolkit_config_state(const base::Root& root, std::string_view wanted);

/// What somebody else's file says otherwise, "KEY is VALUE there, and VALUE in section [Toolkit]". Parses that file: not for the
/// daemon.
[[nodiscard]] base::Result<std::vector<std::string>> others_options(const base::Root& root,
                                                                    const base::Json& ours);

} // namespace gpuhost::runtime
