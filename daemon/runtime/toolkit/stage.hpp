// SPDX-License-Identifier: Apache-2.0
// Step toolkit.stage: what a person passes becomes one checked set in the staging directory; and toolkit.take, the same with the
// files of a bundle. Nothing of it is executed.
//
// Of the packages only programs, libraries and licences are kept, with no owner, no set-id bit, no link that leads out: what else
// they have (units, scripts, files below /etc) a host with gpuhost has no use for.
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
    std::uint64_t ignored = 0; ///< files
};

/// Below the staging directory; in it a directory each set.
inline constexpr std::string_view staged_toolkits = "/toolkits";

/// One toolkit, all of whose packages are of one version and of this machine, as the set `place`. `space` is what may be
/// written, whatever the packages say.
[[nodiscard]] base::Result<StagedToolkit>
stage_toolkit(const base::Root& staging, const std::string& place, const std::vector<ToolkitFile>& files,
              std::uint64_t space, const std::function<void(double, std::string_view)>& progress);

[[nodiscard]] core::StepKind toolkit_stage_kind();
[[nodiscard]] core::StepKind toolkit_take_kind();

} // namespace gpuhost::runtime
