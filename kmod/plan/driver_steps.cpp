// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_steps.hpp"

#include "kmod/step_kind.hpp"

namespace gpuhost::kmod {

void register_driver_steps(core::StepKinds& kinds) {
    kinds.add(initramfs_clear_kind());
    kinds.add(driver_prepare_kind());
    kinds.add(holders_wait_kind());
    kinds.add(autoload_block_kind());
    kinds.add(units_stop_kind());
    kinds.add(holders_clear_kind());
    kinds.add(modules_converge_kind());
    kinds.add(driver_select_kind());
    kinds.add(driver_devices_kind());
    kinds.add(driver_validate_kind());
    kinds.add(driver_compute_kind());
    kinds.add(autoload_unblock_kind());
    kinds.add(units_start_kind());
    kinds.add(units_quiesce_kind());
    kinds.add(units_reload_kind());
}

} // namespace gpuhost::kmod
