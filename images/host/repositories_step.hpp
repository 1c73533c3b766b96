// SPDX-License-Identifier: Apache-2.0
// Step packages.repositories: changes the package manager's files as observe_repositories() states, after apt
// has read the indexes. It follows the catalogue, like images.mirrors. Its undo restores the file of a bundle
// whose removal failed. Failures are warnings.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::images {

[[nodiscard]] core::StepKind repositories_kind();
[[nodiscard]] core::Step repositories_step(bool on);
/// For use before that bundle and its packages are removed.
[[nodiscard]] core::Step repositories_step_without(bool on, const std::string& bundle);

} // namespace gpuhost::images
