// SPDX-License-Identifier: Apache-2.0
// Steps that keep MIG instances over restarts of the host:
//
//   mig.recreate  Mig  creates the kept instances in the operation that makes a driver ready after a boot,
//                      before containers and the kubelet get the GPUs. Does not fail, because a host is
//                      useful without them: what is missing becomes a problem of the component "mig".
//                      Instances in their place stay, so that a repeated run creates none twice.
//   mig.record    Mig  keeps the present instances. {"mode": "add"} leaves those of a GPU that has none now;
//                      "replace" and "remove" forget them.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/devices/mig/geometry.hpp"
#include "daemon/devices/mig/restored.hpp"

#include <string>
#include <vector>

namespace gpuhost::devices {

[[nodiscard]] std::vector<core::StepKind> keep_step_kinds();
[[nodiscard]] std::vector<core::StepCode> keep_step_code();

/// `loads`: the same plan loads the driver, so that its undo destroys the instances.
[[nodiscard]] core::Step mig_recreate_step(bool loads);
/// `mode`: "add", "replace" or "remove".
[[nodiscard]] core::Step mig_record_step(std::string summary, std::string mode);

/// Keeps the instances of a swap, as mig.record with "add" does. A failure is a warning.
void keep_saved(const core::StepContext& context, const Geometry& saved);

/// Keeps the instances that the undo of a swap could not create. `results`: of ask_restore() for `saved`.
void keep_failures(const core::StepContext& context, const Geometry& saved,
                   const base::Result<std::vector<RestoredGpu>>& results);

} // namespace gpuhost::devices
