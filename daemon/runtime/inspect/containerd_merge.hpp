// SPDX-License-Identifier: Apache-2.0
// Merges the files of containerd's configuration. Pure.
//
// Follows services/server/config/config.go of containerd 1.6 and 1.7, and
// cmd/containerd/server/config/config.go of 2.0 to 2.4. Before 2.0 a later file's plugins.X replaces all of
// plugins.X; from 2.0 on tables are merged key by key. 2.0 to 2.2 migrate the result to the newest version;
// from 2.3 on each file is migrated before the merge.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/runtime/inspect/config.hpp"

namespace gpuhost::runtime {

/// In containerd 1.x, the CRI's table "default_runtime" defines a runtime named "default". The runtime
/// "default" is the default runtime, even if default_runtime_name names another.
inline constexpr const char* old_default_table = "default_runtime";
inline constexpr const char* old_default_handler = "default";

struct ContainerdConfig {
    base::Json document = base::Json::object(); ///< the merged files, without containerd's defaults
    unsigned version = 1;                       ///< configuration version of the document
    std::vector<std::string> problems;
};

/// Returns the value of `version =` in a file; 1 without one.
[[nodiscard]] unsigned config_version(const base::Json& file);
/// Returns the CRI's key in "plugins" in a file of this version.
[[nodiscard]] std::string cri_plugin(unsigned config_version);
/// Returns the key of the CRI's image settings in "plugins". Since version 3 this is a plugin of its own.
[[nodiscard]] std::string cri_images_plugin(unsigned config_version);

/// Merges the files. The version of containerd decides the rules. If containerd's version is not known, the
/// version of the configuration decides.
[[nodiscard]] ContainerdConfig merge_containerd(const std::vector<base::Json>& files,
                                                const std::optional<RuntimeVersion>& version);
/// Returns the effective configuration, including containerd's defaults.
[[nodiscard]] RuntimeConfig containerd_config(const std::vector<base::Json>& files,
                                              const std::optional<RuntimeVersion>& version);

} // namespace gpuhost::runtime
