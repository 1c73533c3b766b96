// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/stage.hpp"
#include "daemon/runtime/toolkit/steps.hpp"

namespace gpuhost::runtime {

void register_toolkit_steps(core::StepKinds& kinds) {
    kinds.add(toolkit_stage_kind());
    kinds.add(toolkit_unpack_kind());
    kinds.add(toolkit_publish_kind());
    kinds.add(toolkit_select_kind());
    kinds.add(toolkit_remove_kind());
    kinds.add(toolkit_purge_kind());
}

} // namespace gpuhost::runtime
