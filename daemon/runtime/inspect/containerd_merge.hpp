// SPDX-License-Identifier: Apache-2.0
// What several files of containerd's configuration come to. Pure.
//
// As in services/server/config/config.go of containerd 1.6 and 1.7 and cmd/containerd/server/config/config.go of 2.0 to 2.4:
// before 2.0 a later file's plugins.X stands for all of plugins.X; from then on tables are merged key by key. From 2.3 on each
// file is brought to the newest version before that, in 2.0 to 2.2 the result is.
#pragma once

#include "daemon/runtime/inspect/config.hpp"

namespace gpuhost::runtime {

/// 1.x makes a runtime of this name from that table, and its default runtime, whatever default_runtime_name says.
inline constexpr const char* old_default_table = "default_runtime";
inline constexpr const char* old_default_handler = "default";

struct ContainerdConfig {
    base::Json document = base::Json::object(); ///< without containerd's defaults
    unsigned version = 1;                       ///< in whose words the document is
    std::vector<std::string> problems;
};

/// `version =` of a file; 1 where there is none.
[[nodiscard]] unsigned config_version(const base::Json& file);
/// The CRI's key in "plugins".
[[nodiscard]] std::string cri_plugin(unsigned config_version);
/// The key of the CRI's settings of images, which had no plugin of their own before version 3.
[[nodiscard]] std::string cri_images_plugin(unsigned config_version);

/// Without containerd's version its age is that of the configuration's.
[[nodiscard]] ContainerdConfig merge_containerd(const std::vector<base::Json>& files,
                                                const std::optional<RuntimeVersion>& version);
/// With its defaults.
[[nodiscard]] RuntimeConfig containerd_config(const std::vector<base::Json>& files,
                                              const std::optional<RuntimeVersion>& version);

} // namespace gpuhost::runtime
