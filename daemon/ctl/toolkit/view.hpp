// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

class Facts;

[[nodiscard]] std::string render_toolkits(const Screen& screen, const base::Json& list);
/// `document` is runtime::toolkit_document()'s.
[[nodiscard]] std::string render_toolkit(const Screen& screen, const base::Json& document);
/// What status says of it, as its component observed it.
void add_toolkit_lines(Facts& facts, const Screen& screen, const base::Json& toolkit);

} // namespace gpuhost::ctl
