// SPDX-License-Identifier: Apache-2.0
// Declares the step kinds of the driver. Each is defined in the folder of its mechanism, and
// register_driver_steps() in kmod/plan/driver_steps.cpp registers all.
#pragma once

#include "daemon/core/step.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

using PreflightResult = base::Result<std::vector<core::Problem>>;

[[nodiscard]] core::StepKind holders_wait_kind();
[[nodiscard]] core::StepKind holders_clear_kind();
[[nodiscard]] core::StepKind units_stop_kind();
[[nodiscard]] core::StepKind units_start_kind();
[[nodiscard]] core::StepKind units_quiesce_kind();
[[nodiscard]] core::StepKind units_reload_kind();
[[nodiscard]] core::StepKind autoload_block_kind();
[[nodiscard]] core::StepKind autoload_unblock_kind();
[[nodiscard]] core::StepKind modules_converge_kind();
[[nodiscard]] core::StepKind initramfs_clear_kind();
[[nodiscard]] core::StepKind driver_prepare_kind();
[[nodiscard]] core::StepKind driver_select_kind();
[[nodiscard]] core::StepKind driver_devices_kind();
[[nodiscard]] core::StepKind driver_validate_kind();
[[nodiscard]] core::StepKind driver_compute_kind();

/// Returns a time in a step's args: member `key`, which is in microseconds. Returns `fallback` if it is
/// absent or negative.
[[nodiscard]] std::chrono::milliseconds usec_or(const base::Json& args, std::string_view key,
                                                std::chrono::milliseconds fallback);

} // namespace gpuhost::kmod
