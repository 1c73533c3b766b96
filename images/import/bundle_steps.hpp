// SPDX-License-Identifier: Apache-2.0
// Steps that change the blob store and its catalogue:
//
// | step                  | sandbox | does                                                                           |
// |-----------------------|---------|--------------------------------------------------------------------------------|
// | bundle.receive        | Content | a signed bundle by descriptor → what is missing of it, in the incoming         |
// |                       |         | directory; a list of what it has for other rooms (core/artifact.hpp)           |
// | bundle.adopt          | Content | images that nobody signed, by descriptor → all of them in the incoming         |
// |                       |         | directory, with a manifest that is made here                                   |
// | bundle.commit         | Content | what was received → the store and the catalogue; its record is what makes a    |
// |                       |         | bundle be there                                                                |
// | bundle.settle         | Content | the replaced record gone, and what it alone owned: there is no way back        |
// | bundle.remove         | Content | a record gone, and the blobs that no other one owns                            |
// | images.mirrors        | System  | the runtimes' files follow the catalogue (images/host/mirrors.hpp)                  |
// | packages.repositories | System  | apt's or dnf's files follow the catalogue (images/host/repositories.hpp)            |
//
// What an interrupted one leaves behind nobody sees: blobs that no record owns, which the next import takes up or
// removes.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::images {

void register_bundle_steps(core::StepKinds& kinds);

} // namespace gpuhost::images
