// SPDX-License-Identifier: Apache-2.0
// Step packages.repositories: makes apt read the indexes of new repositories, then makes the changes that
// observe_repositories() returns. Failures are warnings. Its undo computes the files from the catalogue
// again: after a failed removal of a bundle, the bundle's file is restored.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::images {

[[nodiscard]] core::StepCode repositories_code();
[[nodiscard]] core::Step repositories_step(bool on);
/// Returns the step that removes the file of `bundle`. It runs before the bundle's packages are removed.
[[nodiscard]] core::Step repositories_step_without(bool on, const std::string& bundle);

} // namespace gpuhost::images
