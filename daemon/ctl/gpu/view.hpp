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

/// Renders a GPU of the list, with all that is known of it. `withdrawn`: why the kubelet gets none; or empty.
[[nodiscard]] std::string render_gpu(const Screen& screen, const base::Json& gpu,
                                     const std::string& withdrawn);

/// Adds the lines of status about what the kubelet gets. `observed` is what the component "devices" observed.
void add_devices_lines(Facts& facts, const Screen& screen, const base::Json& observed);

/// The GPUs and MIG instances that the kubelet gives to no further pod, in a phrase.
struct Unhealthy {
    /// "GPU-… is unhealthy: Xid 79: …"; for several devices, their number and the first. Empty: none.
    std::string text;
    std::string next; ///< what to do about the first
};
[[nodiscard]] Unhealthy unhealthy_of(const base::Json& observed);
/// Why gpuhost-devices detects no errors of the GPUs, and what to do; or empty.
[[nodiscard]] Unhealthy undetected_of(const base::Json& observed);

/// A phrase about what the kubelet gets.
struct Serving {
    bool ok = false;
    std::string text; ///< "2 of nvidia.com/gpu", or why it gets nothing
    std::string next; ///< a command, if not ok
};
[[nodiscard]] Serving serving_of(const base::Json& observed);

} // namespace gpuhost::ctl
