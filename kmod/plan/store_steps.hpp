// SPDX-License-Identifier: Apache-2.0
// Steps that change the driver store:
//
//   store.stage    Parse    packages and modules by descriptor → checked, normalised sets in the staging
//                           directory
//   driver.unpack    Content  the same for the files of a bundle (kmod/store/unpack_bundle.hpp)
//   build.compile  Compile  sealed source → module sets for some kernels in the staging directory
//   build.sign     Sign     unsigned modules → a signed set in the staging directory (kmod/build/sign.hpp)
//   store.publish  Store    staged sets → sealed and in place
//   store.forget   System   removes what a removed kernel would boot (kmod/boot/removed_kernels.hpp)
//   store.remove   Units    moves a version to .trash, unless it is selected, loaded or mapped;
//                           or a module set, unless its kernel is installed
//   store.purge    Store    deletes .trash; always last, because it cannot be undone
//   store.verify   Store    hashes every file again
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

void register_store_steps(core::StepKinds& kinds);

} // namespace gpuhost::kmod
