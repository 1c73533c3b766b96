// SPDX-License-Identifier: Apache-2.0
// Declares Json, for headers that only name it. nlohmann/json.hpp costs each source that includes it a second
// of compile time.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace gpuhost::base {

using Json = nlohmann::json;

} // namespace gpuhost::base
