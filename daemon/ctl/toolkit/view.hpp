// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

class Facts;

[[nodiscard]] std::string render_toolkits(const Screen& screen, const base::Json& list);
/// Renders runtime::toolkit_document().
[[nodiscard]] std::string render_toolkit(const Screen& screen, const base::Json& document);
/// Adds the lines of 'status' about the toolkit. `toolkit` is what the component observed.
void add_toolkit_lines(Facts& facts, const Screen& screen, const base::Json& toolkit);

} // namespace gpuhost::ctl
