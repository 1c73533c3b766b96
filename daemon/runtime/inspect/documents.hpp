// SPDX-License-Identifier: Apache-2.0
// JSON documents about runtimes for gpuhostctl. org.gpuhost1(5) describes them.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/runtime/inspect/state.hpp"

#include <vector>

namespace gpuhost::runtime {

[[nodiscard]] base::Json list_runtimes(const std::vector<RuntimeState>& states);
[[nodiscard]] base::Json show_runtime(const RuntimeState& state);

} // namespace gpuhost::runtime
