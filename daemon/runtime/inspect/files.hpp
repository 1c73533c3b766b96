// SPDX-License-Identifier: Apache-2.0
// Identifies gpuhost's files in a runtime's configuration. Pure.
#pragma once

#include "daemon/runtime/inspect/config_file.hpp"
#include "daemon/runtime/inspect/instance.hpp"

#include <string>

namespace gpuhost::runtime {

/// Returns the path of gpuhost's drop-in for this runtime; empty for a runtime without drop-ins.
[[nodiscard]] std::string drop_in_of(const RuntimeInstance& instance);
/// Returns true if the imports in `file` contain `path` itself. A pattern that matches it does not count.
[[nodiscard]] bool is_named(const ConfigFile& file, const std::string& path);

} // namespace gpuhost::runtime
