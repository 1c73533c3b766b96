// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// Renders the document of diagnose(), the worst results first. Omits skipped checks unless `all`.
[[nodiscard]] std::string render_diagnosis(const Screen& screen, const base::Json& diagnosis, bool all);

} // namespace gpuhost::ctl
