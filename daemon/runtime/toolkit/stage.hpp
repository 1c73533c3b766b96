// SPDX-License-Identifier: Apache-2.0
// Step toolkit.stage converts files from a person into one checked set in the staging directory. Step
// toolkit.unpack does the same with files of a bundle. Nothing from the files is executed.
//
// Only programs, libraries and licences are kept, without owners, set-id bits or links that leave the tree. A
// host with gpuhost has no use for the rest (units, scripts, files below /etc).
#pragma once

#include "daemon/core/step.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

struct ToolkitFile {
    int fd = -1;
    std::string name; ///< base name, for messages
};

struct StagedToolkit {
    std::string version;
    std::vector<std::string> packages;
    std::uint64_t kept = 0;
    std::uint64_t ignored = 0; ///< number of files
};

/// Below the staging directory; contains one directory for each set.
inline constexpr std::string_view staged_toolkits = "/toolkits";

/// Stages one toolkit as the set `place`. All packages must have one version and fit this machine. `space`
/// limits the bytes written, whatever sizes the packages state.
[[nodiscard]] base::Result<StagedToolkit>
stage_toolkit(const base::Root& staging, const std::string& place, const std::vector<ToolkitFile>& files,
              std::uint64_t space, const std::function<void(double, std::string_view)>& progress);

[[nodiscard]] core::StepKind toolkit_stage_kind();
[[nodiscard]] core::StepKind toolkit_unpack_kind();

} // namespace gpuhost::runtime
