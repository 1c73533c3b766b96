// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/store_steps.hpp"

#include "kmod/boot/removed_kernels.hpp"
#include "kmod/build/build.hpp"
#include "kmod/build/sign.hpp"
#include "kmod/store/publish.hpp"
#include "kmod/store/remove.hpp"
#include "kmod/store/stage.hpp"
#include "kmod/store/unpack_bundle.hpp"

namespace gpuhost::kmod {

void register_store_steps(core::StepKinds& kinds) {
    kinds.add(store_stage_kind());
    kinds.add(driver_unpack_kind());
    kinds.add(build_compile_kind());
    kinds.add(build_sign_kind());
    kinds.add(store_publish_kind());
    kinds.add(store_verify_kind());
    kinds.add(store_forget_kind());
    kinds.add(store_remove_kind());
    kinds.add(store_purge_kind());
}

} // namespace gpuhost::kmod
