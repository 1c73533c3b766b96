// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/terminal.hpp"
#include "daemon/ctl/collect/collection.hpp"

#include <string>

namespace gpuhost::ctl {

/// Returns the summary of a collection for a person.
[[nodiscard]] std::string render_collection(const Collection& collection, const CollectRequest& request,
                                            const Screen& screen);

} // namespace gpuhost::ctl
