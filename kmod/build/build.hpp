// SPDX-License-Identifier: Apache-2.0
// Step build.compile: a version's sealed source becomes a module set for each of some kernels, in the staging directory.
// As many kernels at once as there are processors and room for; the makes share the processors (job_server).
#pragma once

#include "daemon/core/step.hpp"

#include <cstdint>

namespace gpuhost::kmod {

/// What the build for one kernel takes on disk at its peak: 550.163.01 with its debug information, rounded up.
inline constexpr std::uint64_t build_space = std::uint64_t{1500} << 20U;

/// args: {"version", "kernels": [...], "source": {"path", "file", "sha256", "directory", "flavour"}}. Each log stays
/// in build_logs_directory as <version>-<kernel>.log, whatever comes of it. Where one fails the others are built to their
/// end, so that the error says all of it, and none is kept.
[[nodiscard]] core::StepKind build_compile_kind();

} // namespace gpuhost::kmod
