// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/steps.hpp"
#include "daemon/devices/publish/steps.hpp"
#include "daemon/programs/components.hpp"
#include "daemon/runtime/cdi/steps.hpp"
#include "daemon/runtime/configure/steps.hpp"
#include "daemon/runtime/toolkit/steps.hpp"
#include "images/import/bundle_steps.hpp"
#include "kmod/plan/step_kinds.hpp"

namespace gpuhost {

core::StepCodes step_code() {
    core::StepCodes code;
    code.add(kmod::step_code());
    code.add(images::bundle_step_code());
    code.add(runtime::cdi_step_code());
    code.add(devices::devices_step_code());
    code.add(devices::mig_step_code());
    code.add(runtime::toolkit_step_code());
    code.add(runtime::runtime_step_code());
    return code;
}

} // namespace gpuhost
