// SPDX-License-Identifier: Apache-2.0
// Steps that change the driver store:
//
// | step          | sandbox | does                                                                             |
// |---------------|---------|----------------------------------------------------------------------------------|
// | store.stage   | Parse   | packages and modules by descriptor → checked, normalised sets in the staging     |
// |               |         | directory                                                                        |
// | driver.take   | Content | the same with the files of a bundle (kmod/store/take.hpp)                              |
// | build.compile | Compile | sealed source → module sets for some kernels in the staging directory            |
// | build.sign    | Sign    | modules that nobody signed → a signed set in the staging directory (kmod/build/sign.hpp) |
// | store.publish | Store   | staged sets → sealed and in place                                                |
// | store.forget  | System  | what a kernel that is gone would boot is forgotten (kmod/boot/gone_kernels.hpp)       |
// | store.remove  | Units   | a version → .trash; refused while it is selected, loaded or mapped. Or a module  |
// |               |         | set, refused while its kernel is installed                                       |
// | store.purge   | Store   | .trash → gone; always last, there is no way back                                 |
// | store.verify  | Store   | every file hashed again                                                          |
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

void register_store_steps(core::StepKinds& kinds);

} // namespace gpuhost::kmod
