// SPDX-License-Identifier: Apache-2.0
// Steps that change the blob store and its catalogue:
//
// | step                  | sandbox | does                                                                           |
// |-----------------------|---------|--------------------------------------------------------------------------------|
// | bundle.receive        | Content | a signed bundle by descriptor → its missing blobs in the incoming directory,   |
// |                       |         | and a list of its artifacts for other subsystems (core/artifact.hpp)           |
// | bundle.convert        | Content | unsigned images by descriptor → all of them in the incoming directory, with a  |
// |                       |         | manifest that is made here                                                     |
// | bundle.commit         | Content | received blobs → the store and the catalogue; the record makes the bundle      |
// |                       |         | visible                                                                        |
// | bundle.finalize       | Content | removes the replaced record and the blobs of it alone; undo is impossible then |
// | bundle.remove         | Content | removes a record, and the blobs that no other bundle owns                      |
// | images.mirrors        | System  | updates the runtimes' files from the catalogue (images/host/mirrors.hpp)       |
// | packages.repositories | System  | updates apt's or dnf's files likewise (images/host/repositories.hpp)           |
//
// An interrupted step leaves only blobs that no bundle in the catalogue owns. The next import uses or removes
// them.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::images {

void register_bundle_steps(core::StepKinds& kinds);

} // namespace gpuhost::images
