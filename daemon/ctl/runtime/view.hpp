// SPDX-License-Identifier: Apache-2.0
// The documents of daemon/runtime/inspect/documents.hpp as text for people. Pure functions, as those of view.hpp.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// Of list_runtimes() and show_runtime().
[[nodiscard]] std::string render_runtimes(const Screen& screen, const base::Json& list);
[[nodiscard]] std::string render_runtime(const Screen& screen, const base::Json& runtime);

} // namespace gpuhost::ctl
