// SPDX-License-Identifier: Apache-2.0
// The step toolkit.stage unpacks files that a client passed into one checked set in the staging directory.
// The step toolkit.unpack does the same with files of a bundle. Nothing from the files is executed.
//
// Only programs, libraries and licences are kept, without owners, set-id bits or links that leave the set.
// gpuhost does not need other files (units, scripts, files below /etc).
#pragma once

#include "daemon/content/set/import_files.hpp"
#include "daemon/core/step.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

struct StagedToolkit {
    std::string version;
    std::vector<std::string> packages;
    std::uint64_t kept = 0;    ///< number of files in the set
    std::uint64_t ignored = 0; ///< number of other files in the packages
};

/// Directory of the sets in the staging directory.
inline constexpr std::string_view staged_toolkits = "/toolkits";

/// Unpacks one toolkit into the set `place`. All files must be of one version and for this architecture.
/// `space` limits the bytes to write, whatever sizes the packages declare.
[[nodiscard]] base::Result<StagedToolkit>
stage_toolkit(const base::Root& staging, const std::string& place,
              const std::vector<content::ImportFile>& files, std::uint64_t space,
              const std::function<void(double, std::string_view)>& progress);

[[nodiscard]] core::StepCode toolkit_stage_code();
[[nodiscard]] core::StepCode toolkit_unpack_code();

} // namespace gpuhost::runtime
