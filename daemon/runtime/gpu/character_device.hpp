// SPDX-License-Identifier: Apache-2.0
// Reads device nodes. Tests replace the function, because creating nodes needs privileges. Linked from
// daemon/runtime/gpu/character_device.cpp or tests/support/fake_loader.cpp.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>

namespace gpuhost::runtime {

/// Returns the attributes of a character device at `path`; nullopt for links and other files.
[[nodiscard]] std::optional<struct stat> stat_character_device(const base::Root& root,
                                                               const std::string& path);

} // namespace gpuhost::runtime
