// SPDX-License-Identifier: Apache-2.0
// Steps that change the store of toolkits and which of them is used:
//
// | step            | sandbox | does                                                                                    |
// |-----------------|---------|-----------------------------------------------------------------------------------------|
// | toolkit.stage   | Parse   | packages by descriptor → one checked set in the staging directory (toolkit_stage.hpp)    |
// | toolkit.take    | Content | the same with the toolkits of a bundle                                                   |
// | toolkit.publish | Store   | staged sets → sealed and in place                                                        |
// | toolkit.select  | System  | the link `current` and NVIDIA's config.toml → as the settings want; undone, as they were |
// | toolkit.remove  | Units   | a version → .trash; refused while it is selected or used                                 |
// | toolkit.purge   | Store   | .trash → gone; always last, there is no way back                                         |
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

/// What an import of a bundle does for its toolkits: first those that read it, then those that publish.
struct ToolkitImportSteps {
    core::Step take;
    core::Step publish;
};
[[nodiscard]] ToolkitImportSteps toolkit_import_steps();

} // namespace gpuhost::runtime
