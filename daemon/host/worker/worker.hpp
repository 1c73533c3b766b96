// SPDX-License-Identifier: Apache-2.0
// gpuhost-worker's side of a job: reads the request, runs the phase, and always writes a result.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string_view>

namespace gpuhost::host {

/// Runs the job named `job`. Returns the exit status: 0 if a result was written, even if the result is an
/// error. `kept` receives the descriptors that steps leave open for later steps.
[[nodiscard]] int run_job(const base::Root& root, const core::StepKinds& kinds, std::string_view job,
                          std::vector<base::UniqueFd>& kept);

/// Implements main() of gpuhost-worker for these step kinds. The arguments are [--root=DIR] JOB; the names of
/// further jobs arrive on stdin.
[[nodiscard]] int worker_main(const core::StepKinds& kinds, int argc, char* argv[]);

} // namespace gpuhost::host
