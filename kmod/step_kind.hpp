// SPDX-License-Identifier: Apache-2.0
// Declarations that the driver's step kinds share. Each file below defines the kinds of one subject;
// driver_steps.cpp registers all.
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

/// Returns an "…_usec" member of a step's args, else `fallback`.
[[nodiscard]] std::chrono::milliseconds usec_or(const base::Json& args, std::string_view key,
                                                std::chrono::milliseconds fallback);

} // namespace gpuhost::kmod
