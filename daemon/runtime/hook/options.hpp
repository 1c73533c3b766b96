// SPDX-License-Identifier: Apache-2.0
// A hook's options in the syntax of NVIDIA's hook: "--link VALUE" or "--link=VALUE", any number of times.
#pragma once

#include "daemon/base/result.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// For example {"link": {"a::b", "c::d"}}. An option that is not given has no entry.
using HookOptions = std::map<std::string, std::vector<std::string>, std::less<>>;

[[nodiscard]] base::Result<HookOptions> parse_hook_options(std::span<const std::string> words,
                                                           std::span<const std::string_view> known);

} // namespace gpuhost::runtime
