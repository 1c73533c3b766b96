// SPDX-License-Identifier: Apache-2.0
// Steps that change the store of toolkits and the selected toolkit:
//
// | step            | sandbox | effect                                                                         |
// |-----------------|---------|--------------------------------------------------------------------------------|
// | toolkit.stage   | Parse   | passed files → one checked set in the staging directory                        |
// | toolkit.unpack  | Content | toolkits of a bundle → checked sets in the staging directory                   |
// | toolkit.publish | Store   | staged sets → sealed, in the store                                             |
// | toolkit.select  | System  | sets the link `current` and NVIDIA's config.toml; undo restores both           |
// | toolkit.remove  | Units   | moves a version to .trash; refused while it is selected or used                |
// | toolkit.purge   | Store   | deletes .trash; always last, because it has no undo                            |
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
