// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/dashboard/layout.hpp"
#include "daemon/ctl/dashboard/view.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl::dashboard {

/// All rows of the terminal. Each has exactly the terminal's width.
using Frame = std::vector<Line>;

/// Returns what the terminal shows. Adapts `view` to the documents and to the size.
[[nodiscard]] Frame compose(const Documents& documents, View& view, const Size& size);

/// Returns the same content as text, for 'dashboard --once'.
[[nodiscard]] std::string plain_text(const Documents& documents, const Screen& screen);

} // namespace gpuhost::ctl::dashboard
