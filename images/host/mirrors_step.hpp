// SPDX-License-Identifier: Apache-2.0
// Step images.mirrors: the runtimes' files are what look_at_mirrors() says. It follows the catalogue, whatever that has
// when it runs, so it has no undo; and what it can't do is a warning, which is no reason to go back on anything.
#pragma once

#include "daemon/core/step.hpp"
#include "images/host/mirrors.hpp"

namespace gpuhost::images {

[[nodiscard]] core::StepKind mirrors_kind();
[[nodiscard]] core::Step mirrors_step(const MirrorSettings& settings);

} // namespace gpuhost::images
