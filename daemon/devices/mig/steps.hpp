// SPDX-License-Identifier: Apache-2.0
// Steps that keep MIG instances in a swap, for GPUs that are split before it:
//
//   mig.save     Mig  stores the geometry in the staging directory, after the clients have stopped. Preflight
//                     refuses the swap if the geometry is unknown or can't be created again. Undo creates the
//                     saved instances with the driver that is loaded then. A GPU that can't get them does
//                     not prevent those of the others.
//   mig.restore  Mig  creates the saved instances with the new driver, with the same placements and in the
//                     order of their ids, so that they get the same UUIDs. Fails if an instance can't be
//                     created or gets another UUID: allocations of pods and the names of CDI devices hold
//                     UUIDs. The swap is then undone.
//
// The staging directory outlasts a crash and a power cut, so the undo at the next boot finds the geometry.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"
#include "daemon/core/steps_around.hpp"

namespace gpuhost::devices {

/// Both lists include the steps of daemon/devices/mig/keep_steps.hpp.
[[nodiscard]] std::vector<core::StepKind> mig_step_kinds();
[[nodiscard]] std::vector<core::StepCode> mig_step_code();

/// Returns the number of GPUs with a MIG instance, by the driver's files. A GPU with the MIG mode on and
/// without an instance does not count, because only NVML has its mode.
[[nodiscard]] std::size_t count_gpus_with_instances(const base::Root& root);

/// Returns the steps for a plan that changes the driver. Empty if `split`, the result of
/// count_gpus_with_instances(), is 0. `keep`: mig.save also keeps the instances over a restart (KeepMig=).
[[nodiscard]] core::StepsAround mig_steps_around(std::size_t split, bool keep);

} // namespace gpuhost::devices
