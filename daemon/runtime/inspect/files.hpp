// SPDX-License-Identifier: Apache-2.0
// Identifies gpuhost's files in a runtime's configuration. Pure.
#pragma once

#include "daemon/runtime/inspect/config_file.hpp"
#include "daemon/runtime/inspect/instance.hpp"

#include <string>

namespace gpuhost::runtime {

/// Returns the path of gpuhost's drop-in; empty for a runtime without drop-ins.
[[nodiscard]] std::string drop_in_of(const RuntimeInstance& instance);
/// Returns whether `file` imports `path` by name instead of by a pattern.
[[nodiscard]] bool is_named(const ConfigFile& file, const std::string& path);

} // namespace gpuhost::runtime
