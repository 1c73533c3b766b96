// SPDX-License-Identifier: Apache-2.0
// Writes and removes gpuhost's specifications in the host's directories.
//
// The files have the names of NVIDIA's own tools. Two files with the same devices in one directory would make
// these devices unavailable. With equal names, the last writer replaces the other's file instead.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/inspect/cdi_record.hpp"

namespace gpuhost::runtime {

/// Writes and records the specifications of the loaded and selected driver. Writes none if the driver serves
/// no GPU. Removes gpuhost's outdated files. An obstacle is recorded as a problem instead of an error,
/// because it must not undo a change to a working driver.
[[nodiscard]] CdiRecord publish_specs(core::StepContext& context, const CdiSettings& settings);

/// Returns existing files that gpuhost may have written without a record: those with its file names in
/// /run/cdi and /etc/cdi. Empty if there is a record. Does not read the files.
[[nodiscard]] std::vector<std::string> unrecorded_paths(const base::Root& host);

/// Removes gpuhost's specifications from all directories, and returns their paths.
[[nodiscard]] base::Result<std::vector<std::string>> withdraw_specs(const base::Root& host);

} // namespace gpuhost::runtime
