// SPDX-License-Identifier: Apache-2.0
// Renders what the kubelet gets of the GPUs as text. Pure functions.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// Renders devices::list_gpus().
[[nodiscard]] std::string render_gpus(const Screen& screen, const base::Json& list);

/// Adds the line of status about what the kubelet gets. `observed` is what the component "devices" observed.
void add_devices_lines(Facts& facts, const Screen& screen, const base::Json& observed);

/// A phrase about what the kubelet gets.
struct Serving {
    bool ok = false;
    std::string text; ///< "2 of nvidia.com/gpu", or why it gets nothing
    std::string next; ///< a command, if not ok
};
[[nodiscard]] Serving serving_of(const base::Json& observed);

} // namespace gpuhost::ctl
