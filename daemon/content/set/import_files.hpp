// SPDX-License-Identifier: Apache-2.0
// The files from which a step makes sets: files that a client passed, or an artifact of a bundle.
#pragma once

#include "daemon/core/artifact.hpp"
#include "daemon/core/step.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

struct ImportFile {
    int fd = -1;
    std::string name; ///< file name for messages
};

/// Returns the files that the client passed, with their names in args. Fails with Interrupted if they are no
/// longer open.
[[nodiscard]] base::Result<std::vector<ImportFile>> passed_files(const core::StepContext& context,
                                                                 const base::Json& args);
/// Returns the sum of the sizes of all files in bytes. Fails with InvalidArgument if one is not a regular
/// file.
[[nodiscard]] base::Result<std::uint64_t> total_size(const std::vector<ImportFile>& files);

/// Returns the number of bytes that an import may write now to the file system of `directory`: the free space
/// without the reserve that an import leaves for other programs.
[[nodiscard]] base::Result<std::uint64_t> usable_space(const base::Root& root, std::string_view directory);

/// Preflight of an import: returns a problem with this hint if the passed files are larger than
/// usable_space(). Does not read the files, because the preflight runs with more privileges than the parser
/// has.
[[nodiscard]] base::Result<std::vector<core::Problem>> check_passed_files(const core::StepContext& context,
                                                                          const base::Json& args,
                                                                          std::string_view directory,
                                                                          std::string_view hint);

struct ArtifactFiles {
    std::vector<base::UniqueFd> descriptors;
    std::vector<ImportFile> files;
};
/// Opens the files of an artifact. Compares them with their digests again, because the blobs may have been in
/// the store for a long time.
[[nodiscard]] base::Result<ArtifactFiles> open_artifact(const base::Root& root,
                                                        const core::Artifact& artifact);

} // namespace gpuhost::content
