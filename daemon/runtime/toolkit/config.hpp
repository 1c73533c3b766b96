// SPDX-License-Identifier: Apache-2.0
// NVIDIA's config.toml as gpuhost writes it. Each option has NVIDIA's default, a path in gpuhost's toolkit,
// or its value from section [Toolkit].
//
// gpuhost never changes a file without its mark; such a file has precedence.
#pragma once

#include "daemon/runtime/toolkit/choice.hpp"
#include "daemon/runtime/toolkit/options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

inline constexpr std::string_view toolkit_config_path = "/etc/nvidia-container-runtime/config.toml";

/// Facts of a host and its toolkit that decide values in config.toml.
struct ToolkitFacts {
    bool has_real_ldconfig = false; ///< /sbin/ldconfig is a script, and the program is /sbin/ldconfig.real
    bool is_suse = false;
    std::string libraries; ///< directory of libraries, relative to the toolkit; empty: none
    /// Names of the toolkit's programs. For other programs the paths stay NVIDIA's defaults.
    std::vector<std::string> programs = {};
    bool has_cli = false; ///< nvidia-container-cli is in the toolkit or on the host
};
[[nodiscard]] ToolkitFacts toolkit_facts(const base::Root& root, const ToolkitSet& set);

struct ToolkitConfig {
    base::Json document;
    std::vector<std::string> problems; ///< sentences about options that are ignored
};
[[nodiscard]] ToolkitConfig make_toolkit_config(const ToolkitSettings& settings, const ToolkitFacts& facts);
/// Returns the file's text, including gpuhost's mark.
[[nodiscard]] std::string toolkit_config_text(const base::Json& document);

enum class ConfigState {
    None,
    Ours,     ///< gpuhost's, and up to date
    Outdated, ///< gpuhost's, but not up to date
    Other,    ///< another program's
};
[[nodiscard]] std::string_view name_of(ConfigState state);
/// Compares config.toml with `wanted`. Does not parse the file, because another program may have written it.
[[nodiscard]] ConfigState toolkit_config_state(const base::Root& root, std::string_view wanted);

/// Returns sentences about options that another program's file sets differently than gpuhost would. Parses
/// that file, so the daemon must not call it.
[[nodiscard]] base::Result<std::vector<std::string>> others_options(const base::Root& root,
                                                                    const base::Json& ours);

/// The options by which NVIDIA's runtime accepts a container's request for GPUs.
struct AcceptedRequests {
    std::string file = std::string(toolkit_config_path);
    bool envvar = true;         ///< by NVIDIA_VISIBLE_DEVICES in an unprivileged container
    bool volume_mounts = false; ///< by mounts in /var/run/nvidia-container-devices
    bool ours = false;          ///< gpuhostd writes the file
    friend bool operator==(const AcceptedRequests&, const AcceptedRequests&) = default;
};
inline constexpr std::string_view envvar_option = "accept-nvidia-visible-devices-envvar-when-unprivileged";
inline constexpr std::string_view mounts_option = "accept-nvidia-visible-devices-as-volume-mounts";

/// Returns the options of the runtime at the path `binary`. NVIDIA's toolkit container installs programs that
/// read a file in a directory beside them. Without a file, NVIDIA's defaults. Fails with BadContent if the
/// runtime could not use the file either. Parses the file, so the daemon must not call it.
[[nodiscard]] base::Result<AcceptedRequests> accepted_requests(const base::Root& root,
                                                               std::string_view binary);

} // namespace gpuhost::runtime
