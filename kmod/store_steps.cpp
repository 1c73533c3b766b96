// SPDX-License-Identifier: Apache-2.0
#include "kmod/store_steps.hpp"

#include "kmod/build.hpp"
#include "kmod/publish.hpp"
#include "kmod/remove.hpp"
#include "kmod/stage.hpp"

namespace gpuhost::kmod {

void register_store_steps(core::StepKinds& kinds) {
    kinds.add(stage_step());
    kinds.add(compile_step());
    kinds.add(publish_step());
    kinds.add(verify_step());
    kinds.add(remove_step());
    kinds.add(purge_step());
}

} // namespace gpuhost::kmod
