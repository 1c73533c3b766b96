// SPDX-License-Identifier: Apache-2.0
// Merges the files of containerd's configuration. Pure.
//
// Follows services/server/config/config.go of containerd 1.6 and 1.7, and
// cmd/containerd/server/config/config.go of 2.0 to 2.4. Before 2.0 a later file's plugins.X replaces all of
// plugins.X; from 2.0 on tables are merged key by key. 2.0 to 2.2 migrate the result to the newest version;
// from 2.3 on each file is migrated before the merge.
#pragma once

#include "daemon/runtime/inspect/config.hpp"

namespace gpuhost::runtime {

/// containerd 1.x makes a runtime of this name from that table. It is the default runtime, whatever
/// default_runtime_name says.
inline constexpr const char* old_default_table = "default_runtime";
inline constexpr const char* old_default_handler = "default";

struct ContainerdConfig {
    base::Json document = base::Json::object(); ///< excludes containerd's defaults
    unsigned version = 1;                       ///< configuration version of the document
    std::vector<std::string> problems;
};

/// Returns a file's `version =`, or 1 without one.
[[nodiscard]] unsigned config_version(const base::Json& file);
/// Returns the CRI's key in "plugins".
[[nodiscard]] std::string cri_plugin(unsigned config_version);
/// Returns the key of the CRI's image settings, which are a separate plugin since version 3.
[[nodiscard]] std::string cri_images_plugin(unsigned config_version);

/// Merges the files. If containerd's version is not known, the configuration's version decides the rules.
[[nodiscard]] ContainerdConfig merge_containerd(const std::vector<base::Json>& files,
                                                const std::optional<RuntimeVersion>& version);
/// Returns the effective configuration, including containerd's defaults.
[[nodiscard]] RuntimeConfig containerd_config(const std::vector<base::Json>& files,
                                              const std::optional<RuntimeVersion>& version);

} // namespace gpuhost::runtime
