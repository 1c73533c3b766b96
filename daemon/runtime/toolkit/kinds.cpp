// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/stage.hpp"
#include "daemon/runtime/toolkit/steps.hpp"

#include <chrono>

namespace gpuhost::runtime {

using core::Sandbox;
using std::chrono::minutes;

std::vector<core::StepKind> toolkit_step_kinds() {
    return {
        // Turns passed files into one checked set in the staging directory.
        {.name = "toolkit.stage",
         .sandbox = Sandbox::Parse,
         .deadline = minutes(10),
         .interruptible = true,
         .has_preflight = true},
        // Turns the toolkits of a bundle into checked sets in the staging directory.
        {.name = "toolkit.unpack",
         .sandbox = Sandbox::Content,
         .deadline = minutes(10),
         .interruptible = true},
        // Turns staged sets into sealed sets in the store.
        {.name = "toolkit.publish", .sandbox = Sandbox::Store, .deadline = minutes(10), .has_undo = true},
        // Sets the link `current` and NVIDIA's config.toml; undo restores both.
        {.name = "toolkit.select",
         .sandbox = Sandbox::System,
         .deadline = minutes(2),
         .has_preflight = true,
         .has_undo = true},
        // Moves a version to .trash; refused while the version is selected or used. The step reads the
        // mappings of all processes, which Sandbox::Store can't, and waits for the disk.
        {.name = "toolkit.remove",
         .sandbox = Sandbox::Units,
         .deadline = minutes(5),
         .has_preflight = true,
         .has_undo = true},
        // Deletes .trash. Always last, because it has no undo.
        {.name = "toolkit.purge", .sandbox = Sandbox::Store, .deadline = minutes(10)},
    };
}

std::vector<core::StepCode> toolkit_step_code() {
    return {toolkit_stage_code(),  toolkit_unpack_code(), toolkit_publish_code(),
            toolkit_select_code(), toolkit_remove_code(), toolkit_purge_code()};
}

} // namespace gpuhost::runtime
