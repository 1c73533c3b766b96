// SPDX-License-Identifier: Apache-2.0
// The option --only of plan and apply.
#pragma once

#include "daemon/client/client.hpp"
#include "daemon/ctl/cli/arguments.hpp"

namespace gpuhost::ctl {

inline constexpr Option only_option{"only", "driver|images|cdi|toolkit|runtime",
                                    "only this part of the host"};

/// Returns the option as gpuhostd's methods expect it.
[[nodiscard]] inline client::Options only_given(const Arguments& given) {
    const auto only = given.value(only_option);
    return only ? client::Options{{"only", *only}} : client::Options{};
}

} // namespace gpuhost::ctl
