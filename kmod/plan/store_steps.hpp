// SPDX-License-Identifier: Apache-2.0
// The step kinds that change the driver store, each with its sandbox:
//
//   store.stage    Parse    packages or modules, by descriptor → sets in the staging directory
//   driver.unpack  Content  the same for drivers of a bundle (kmod/store/unpack_bundle.hpp)
//   build.compile  Compile  source in the store → module sets for some kernels in the staging directory
//   build.sign     Sign     unsigned modules → a signed set in the staging directory (kmod/build/sign.hpp)
//   store.publish  Store    staged sets → checked, owned by root, and in the store
//   store.forget   System   removes the selection of a removed kernel (kmod/boot/removed_kernels.hpp)
//   store.remove   Units    moves a version to .trash, unless it is selected, loaded or mapped;
//                           or a module set, unless its kernel is installed
//   store.purge    Store    deletes .trash; always last, because it cannot be undone
//   store.verify   Store    hashes every file again
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

void register_store_steps(core::StepKinds& kinds);

} // namespace gpuhost::kmod
