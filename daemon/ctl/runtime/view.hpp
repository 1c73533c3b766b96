// SPDX-License-Identifier: Apache-2.0
// Renders the documents of daemon/runtime/inspect/documents.hpp as text. Pure functions.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// Render list_runtimes() and show_runtime().
[[nodiscard]] std::string render_runtimes(const Screen& screen, const base::Json& list);
[[nodiscard]] std::string render_runtime(const Screen& screen, const base::Json& runtime);

} // namespace gpuhost::ctl
