// SPDX-License-Identifier: Apache-2.0
// Steps that change the store of toolkits and the selected toolkit. kinds.cpp lists them.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/toolkit_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

[[nodiscard]] core::StepCode toolkit_publish_code();
[[nodiscard]] core::StepCode toolkit_select_code();
[[nodiscard]] core::StepCode toolkit_remove_code();
[[nodiscard]] core::StepCode toolkit_purge_code();
[[nodiscard]] std::vector<core::StepKind> toolkit_step_kinds();
[[nodiscard]] std::vector<core::StepCode> toolkit_step_code();

/// Returns the step that selects the toolkit in the directory `path`; empty: no toolkit.
[[nodiscard]] core::Step toolkit_select_step(const ToolkitSettings& settings, const std::string& path,
                                             std::string summary);

/// The steps for the toolkits of a bundle. An import runs the unpack steps of all subsystems before their
/// publish steps.
struct ToolkitImportSteps {
    core::Step unpack;
    core::Step publish;
};
[[nodiscard]] ToolkitImportSteps toolkit_import_steps();

} // namespace gpuhost::runtime
