// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns files of modprobe's configuration (modprobe.d(5)) that make it load another module than the
/// selected one: "install nvidia …", "alias nvidia …". An alias whose target is nvidia does not count.
[[nodiscard]] std::vector<std::string> rules_in_place_of_nvidia(const base::Root& root);

} // namespace gpuhost::kmod
