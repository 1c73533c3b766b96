// SPDX-License-Identifier: Apache-2.0
// The option --root of verbs that read a host's files themselves.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/arguments.hpp"

namespace gpuhost::ctl {

inline constexpr Option root_option{"root", "DIRECTORY", "use the files of the system that is mounted there"};

[[nodiscard]] inline base::Result<base::Root> given_root(const Arguments& given) {
    return base::Root::open(given.value(root_option).value_or("/"));
}

} // namespace gpuhost::ctl
