// SPDX-License-Identifier: Apache-2.0
// The words after a hook's name, as NVIDIA's hook takes them: "--link VALUE" or "--link=VALUE", each as often as one likes.
#pragma once

#include "daemon/base/result.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// {"link": {"a::b", "c::d"}}; an option that is not given has no entry.
using HookOptions = std::map<std::string, std::vector<std::string>, std::less<>>;

[[nodiscard]] base::Result<HookOptions> parse_hook_options(std::span<const std::string> words,
                                                           std::span<const std::string_view> known);

} // namespace gpuhost::runtime
