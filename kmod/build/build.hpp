// SPDX-License-Identifier: Apache-2.0
// Step build.compile: compiles a version's sealed source into a module set for each of several kernels, in
// the staging directory. Builds as many kernels at once as processors and disk space allow. The makes share
// the processors (job_server).
#pragma once

#include "daemon/core/step.hpp"

#include <cstdint>

namespace gpuhost::kmod {

/// Peak disk usage in bytes of the build for one kernel: that of 550.163.01 with debug information, rounded
/// up.
inline constexpr std::uint64_t build_space = std::uint64_t{1500} << 20U;

/// args: {"version", "kernels": [...], "source": {"path", "file", "sha256", "directory", "flavour"}}. Each
/// log stays in build_logs_directory as <version>-<kernel>.log, after success and failure. If one build
/// fails, the others still run to their end so that the error has all failures, and no result is kept.
[[nodiscard]] core::StepKind build_compile_kind();

} // namespace gpuhost::kmod
