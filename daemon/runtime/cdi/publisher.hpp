// SPDX-License-Identifier: Apache-2.0
// Our specifications in the host's directories, written and taken away.
//
// Files have the names under which NVIDIA's own tools write theirs: two files with the same devices in one directory would
// take all of them away, and so who writes last replaces the other.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/inspect/cdi_record.hpp"

namespace gpuhost::runtime {

/// Writes those of the driver that is loaded and selected, and records it; none where it serves no GPU. What is in the way is
/// the record's problem and no error: a driver that works is not to go for it. Stale ones of ours are gone in any case
/// but where they can't be removed.
[[nodiscard]] CdiRecord publish_specs(core::StepContext& context, const CdiSettings& settings);

/// Where ours may be, and something is, though no record says so. Reads none of it.
[[nodiscard]] std::vector<std::string> unrecorded_paths(const base::Root& host);

/// Takes ours away, wherever they are. Their paths.
[[nodiscard]] base::Result<std::vector<std::string>> withdraw_specs(const base::Root& host);

} // namespace gpuhost::runtime
