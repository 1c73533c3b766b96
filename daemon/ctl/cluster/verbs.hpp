// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb cluster_join_verb;
extern const Verb cluster_leave_verb;
extern const Verb cluster_policy_verb;
extern const Verb cluster_status_verb;

inline constexpr std::array cluster_verbs{&cluster_join_verb, &cluster_status_verb, &cluster_policy_verb,
                                          &cluster_leave_verb};
inline constexpr Family cluster_family{"Kubernetes:", cluster_verbs};

} // namespace gpuhost::ctl
