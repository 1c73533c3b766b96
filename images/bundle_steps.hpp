// SPDX-License-Identifier: Apache-2.0
// Steps that change the blob store and its catalogue:
//
// | step          | sandbox | does                                                                            |
// |---------------|---------|---------------------------------------------------------------------------------|
// | bundle.import | Content | a signed bundle by descriptor → its blobs in the store, its record in the       |
// |               |         | catalogue; the record comes last and is all that others see                     |
// | bundle.remove | Content | a record gone, and the blobs that no other one owns                             |
//
// Neither has an undo: each is the only step of its transaction. What an interrupted one leaves behind nobody sees: blobs
// that no record owns, which the next import takes up or removes.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::images {

void register_bundle_steps(core::StepKinds& kinds);

} // namespace gpuhost::images
