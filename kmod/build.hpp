// SPDX-License-Identifier: Apache-2.0
// Step build.compile: a version's sealed source becomes a module set for one kernel, in the staging
// directory.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <cstdint>
#include <string>

namespace gpuhost::kmod {

/// What one build takes on disk at its peak: 550.163.01 with its debug information, rounded up.
inline constexpr std::uint64_t build_space = std::uint64_t{1500} << 20U;

/// args: {"version", "kernel", "source": {"path", "file", "sha256", "directory", "flavour"}}. The log stays
/// in build_logs_directory as <version>-<kernel>.log, whatever comes of it.
[[nodiscard]] core::StepKind build_compile_kind();

struct SourceTree {
    std::size_t sources = 0; ///< .c files, to tell how far a build is
    std::uint64_t bytes = 0;
};

/// Unpacks `directory` of the package `fd` into `place` of `staging`: plain files, directories and links
/// inside.
[[nodiscard]] base::Result<SourceTree> unpack_source(int fd, const std::string& package,
                                                     const std::string& directory, const base::Root& staging,
                                                     const std::string& place);

} // namespace gpuhost::kmod
