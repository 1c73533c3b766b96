// SPDX-License-Identifier: Apache-2.0
#include "kmod/store_steps.hpp"

#include "kmod/build.hpp"
#include "kmod/gone_kernels.hpp"
#include "kmod/publish.hpp"
#include "kmod/remove.hpp"
#include "kmod/sign.hpp"
#include "kmod/stage.hpp"
#include "kmod/take.hpp"

namespace gpuhost::kmod {

void register_store_steps(core::StepKinds& kinds) {
    kinds.add(store_stage_kind());
    kinds.add(driver_take_kind());
    kinds.add(build_compile_kind());
    kinds.add(build_sign_kind());
    kinds.add(store_publish_kind());
    kinds.add(store_verify_kind());
    kinds.add(store_forget_kind());
    kinds.add(store_remove_kind());
    kinds.add(store_purge_kind());
}

} // namespace gpuhost::kmod
