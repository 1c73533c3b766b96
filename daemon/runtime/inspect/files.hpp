// SPDX-License-Identifier: Apache-2.0
// Which files of a runtime's configuration are ours. Pure.
#pragma once

#include "daemon/runtime/inspect/config_file.hpp"
#include "daemon/runtime/inspect/instance.hpp"

#include <string>

namespace gpuhost::runtime {

/// The file that is all ours; empty for a runtime that has no drop-ins.
[[nodiscard]] std::string drop_in_of(const RuntimeInstance& instance);
/// Does `file` import `path` by its name, rather than by a pattern?
[[nodiscard]] bool is_named(const ConfigFile& file, const std::string& path);

} // namespace gpuhost::runtime
