// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Files of modprobe's configuration (modprobe.d(5)) by which it loads something else for NVIDIA's modules than what is
/// selected: "install nvidia …", "alias nvidia …". An alias that leads to nvidia is none of them.
[[nodiscard]] std::vector<std::string> rules_in_place_of_nvidia(const base::Root& root);

} // namespace gpuhost::kmod
