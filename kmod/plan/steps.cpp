// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/removed_kernels.hpp"
#include "kmod/build/build.hpp"
#include "kmod/build/sign.hpp"
#include "kmod/plan/step_kinds.hpp"
#include "kmod/step_code.hpp"
#include "kmod/store/publish.hpp"
#include "kmod/store/remove.hpp"
#include "kmod/store/stage.hpp"
#include "kmod/store/unpack_bundle.hpp"

namespace gpuhost::kmod {

std::vector<core::StepCode> step_code() {
    return {store_stage_code(),      driver_unpack_code(),   build_compile_code(),   build_sign_code(),
            store_publish_code(),    store_verify_code(),    store_forget_code(),    store_remove_code(),
            store_purge_code(),      initramfs_clear_code(), driver_prepare_code(),  holders_wait_code(),
            autoload_block_code(),   units_stop_code(),      holders_clear_code(),   modules_converge_code(),
            driver_select_code(),    driver_devices_code(),  driver_validate_code(), driver_compute_code(),
            autoload_unblock_code(), units_start_code(),     units_quiesce_code(),   units_reload_code()};
}

} // namespace gpuhost::kmod
