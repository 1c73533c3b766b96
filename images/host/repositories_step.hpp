// SPDX-License-Identifier: Apache-2.0
// Step packages.repositories: the package manager's files are what look_at_repositories() says, and apt has read the indexes
// that they lead to. Like images.mirrors it follows the catalogue, so it has no undo, and what it can't do is a warning.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::images {

[[nodiscard]] core::StepKind repositories_kind();
[[nodiscard]] core::Step repositories_step(bool on);
/// Before that bundle goes with its packages.
[[nodiscard]] core::Step repositories_step_without(bool on, const std::string& bundle);

} // namespace gpuhost::images
