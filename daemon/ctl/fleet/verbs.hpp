// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb fleet_status_verb;

inline constexpr std::array fleet_verbs{&fleet_status_verb};
inline constexpr Family fleet_family{"The hosts of the cluster:", fleet_verbs};

} // namespace gpuhost::ctl
