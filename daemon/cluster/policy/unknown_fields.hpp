// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// Names the members of `object` that are not in `known`, each with the most similar one that is; empty if
/// all are known.
[[nodiscard]] std::string unknown_fields(const base::Json& object, std::span<const std::string_view> known);

} // namespace gpuhost::cluster
