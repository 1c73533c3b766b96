// SPDX-License-Identifier: Apache-2.0
// Step build.compile: compiles the source of one driver version in the store into a module set for each of
// several kernels, in the staging directory. Builds for as many kernels at the same time as processors and
// disk space allow. The processes of make share the processors (job_server.hpp).
#pragma once

#include "daemon/core/step.hpp"

#include <chrono>
#include <cstdint>

namespace gpuhost::kmod {

/// The disk space in bytes that the build for one kernel needs at most: the space for 550.163.01 with debug
/// information, rounded up.
inline constexpr std::uint64_t build_space = std::uint64_t{1500} << 20U;

/// The time limit of the step build.compile, for the builds for all kernels together.
inline constexpr auto build_deadline = std::chrono::hours(4);

/// args: {"version", "kernels": [releases], "source": {"path", "file", "sha256", "directory", "flavour"}},
/// where "source" is a SourceSet. The output of each build is kept in build_logs_directory as
/// <version>-<kernel>.log. If one build fails, the others continue to their end, so that the error contains
/// all failures. The step then fails, and no module set is kept.
[[nodiscard]] core::StepCode build_compile_code();

} // namespace gpuhost::kmod
