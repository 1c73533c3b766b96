// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/terminal.hpp"
#include "daemon/ctl/cli/verb.hpp"

#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Returns the list of verbs; with a topic such as "driver", only the verbs that begin with it.
[[nodiscard]] std::string general_help(const Screen& screen, std::string_view topic);
[[nodiscard]] std::string verb_help(const Screen& screen, const Verb& verb);

} // namespace gpuhost::ctl
