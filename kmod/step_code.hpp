// SPDX-License-Identifier: Apache-2.0
// Declares the code of the driver's steps. Each function is defined in the folder of its mechanism. The step
// kinds are listed in kmod/plan/step_kinds.cpp.
#pragma once

#include "daemon/core/step.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// The time limit of initramfs.clear, for all images of a kernel.
inline constexpr auto initramfs_deadline = std::chrono::minutes(15);
/// The longest time for which a step may wait for the holders of the driver.
inline constexpr std::chrono::hours longest_wait{24 * 7};

using PreflightResult = base::Result<std::vector<core::Problem>>;

[[nodiscard]] core::StepCode holders_wait_code();
[[nodiscard]] core::StepCode holders_clear_code();
[[nodiscard]] core::StepCode units_stop_code();
[[nodiscard]] core::StepCode units_start_code();
[[nodiscard]] core::StepCode units_quiesce_code();
[[nodiscard]] core::StepCode units_reload_code();
[[nodiscard]] core::StepCode autoload_block_code();
[[nodiscard]] core::StepCode autoload_unblock_code();
[[nodiscard]] core::StepCode modules_converge_code();
[[nodiscard]] core::StepCode initramfs_clear_code();
[[nodiscard]] core::StepCode driver_prepare_code();
[[nodiscard]] core::StepCode driver_select_code();
[[nodiscard]] core::StepCode driver_devices_code();
[[nodiscard]] core::StepCode driver_validate_code();
[[nodiscard]] core::StepCode driver_compute_code();

/// Returns a time in a step's args: member `key`, which is in microseconds. Returns `fallback` if it is
/// absent or negative.
[[nodiscard]] std::chrono::milliseconds usec_or(const base::Json& args, std::string_view key,
                                                std::chrono::milliseconds fallback);

} // namespace gpuhost::kmod
