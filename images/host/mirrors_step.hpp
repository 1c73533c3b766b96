// SPDX-License-Identifier: Apache-2.0
// Step images.mirrors: makes the changes that observe_mirrors() returns. It has no undo: whenever it runs, it
// computes the files from the catalogue. A file that cannot be changed is only a warning, so that the import
// is not undone.
#pragma once

#include "daemon/core/step.hpp"
#include "images/host/mirrors.hpp"

namespace gpuhost::images {

[[nodiscard]] core::StepCode mirrors_code();
[[nodiscard]] core::Step mirrors_step(const MirrorSettings& settings);

} // namespace gpuhost::images
