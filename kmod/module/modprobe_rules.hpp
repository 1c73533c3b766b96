// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns files of modprobe.d(5) that make modprobe run a command or load another module instead of nvidia:
/// "install nvidia …", "alias nvidia …". Files that only have an alias whose target is nvidia are not
/// returned.
[[nodiscard]] std::vector<std::string> rules_in_place_of_nvidia(const base::Root& root);

} // namespace gpuhost::kmod
