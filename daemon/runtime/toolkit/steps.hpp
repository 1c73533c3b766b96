// SPDX-License-Identifier: Apache-2.0
// Steps that change the store of toolkits and the selected toolkit:
//
// | step            | sandbox | effect                                                                     |
// |-----------------|---------|----------------------------------------------------------------------------|
// | toolkit.stage   | Parse   | packages by descriptor → one checked set in the staging directory          |
// | toolkit.unpack    | Content | the same with the toolkits of a bundle                                     |
// | toolkit.publish | Store   | staged sets → sealed and in place                                          |
// | toolkit.select  | System  | sets the link `current` and NVIDIA's config.toml; undo restores both       |
// | toolkit.remove  | Units   | a version → .trash; refused while it is selected or used                   |
// | toolkit.purge   | Store   | .trash → gone; always last, because it has no undo                         |
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/toolkit_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

[[nodiscard]] core::StepKind toolkit_publish_kind();
[[nodiscard]] core::StepKind toolkit_select_kind();
[[nodiscard]] core::StepKind toolkit_remove_kind();
[[nodiscard]] core::StepKind toolkit_purge_kind();
void register_toolkit_steps(core::StepKinds& kinds);

/// `path` is the directory of the toolkit to select; empty: none.
[[nodiscard]] core::Step toolkit_select_step(const ToolkitSettings& settings, const std::string& path,
                                             std::string summary);

/// The steps for a bundle's toolkits. All reading steps of an import run before all publishing steps.
struct ToolkitImportSteps {
    core::Step unpack;
    core::Step publish;
};
[[nodiscard]] ToolkitImportSteps toolkit_import_steps();

} // namespace gpuhost::runtime
