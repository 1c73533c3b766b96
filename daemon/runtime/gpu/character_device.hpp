// SPDX-License-Identifier: Apache-2.0
// Device nodes, as tests can play them: making real ones needs privileges. Linked from runtime/character_device.cpp or
// tests/support/fake_loader.cpp.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>

namespace gpuhost::runtime {

/// Of a character device at `path`, no link; nothing of anything else.
[[nodiscard]] std::optional<struct stat> stat_character_device(const base::Root& root,
                                                               const std::string& path);

} // namespace gpuhost::runtime
