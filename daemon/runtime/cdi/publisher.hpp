// SPDX-License-Identifier: Apache-2.0
// Writes and removes gpuhost's specifications in the host's directories.
//
// The files have the names of NVIDIA's own tools. Two files with the same devices in one directory would make
// all of them unavailable; with equal names the last writer replaces the other file.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/inspect/cdi_record.hpp"

namespace gpuhost::runtime {

/// Writes and records the specifications of the loaded and selected driver; none if it serves no GPU. Removes
/// gpuhost's stale files if possible. Obstacles are problems in the record instead of errors, because they
/// must not undo a change to a working driver.
[[nodiscard]] CdiRecord publish_specs(core::StepContext& context, const CdiSettings& settings);

/// Returns, if there is no record, the possible paths of gpuhost's files that exist. Does not read the files.
[[nodiscard]] std::vector<std::string> unrecorded_paths(const base::Root& host);

/// Removes gpuhost's files, wherever they are, and returns their paths.
[[nodiscard]] base::Result<std::vector<std::string>> withdraw_specs(const base::Root& host);

} // namespace gpuhost::runtime
