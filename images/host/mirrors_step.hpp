// SPDX-License-Identifier: Apache-2.0
// Step images.mirrors: changes the runtimes' files as observe_mirrors() states. It follows the catalogue in
// its state at that time, so it has no undo. Failures are warnings, because nothing is to be undone for them.
#pragma once

#include "daemon/core/step.hpp"
#include "images/host/mirrors.hpp"

namespace gpuhost::images {

[[nodiscard]] core::StepKind mirrors_kind();
[[nodiscard]] core::Step mirrors_step(const MirrorSettings& settings);

} // namespace gpuhost::images
