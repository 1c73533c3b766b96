// SPDX-License-Identifier: Apache-2.0
// The worker's side of a job: reads the request, runs the phase, always writes a result.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string_view>

namespace gpuhost::host {

/// Runs a job. Returns the exit status: 0 if a result was written, even an error. `kept` receives the
/// descriptors that steps leave open for later steps.
[[nodiscard]] int run_job(const base::Root& root, const core::StepKinds& kinds, std::string_view job,
                          std::vector<base::UniqueFd>& kept);

/// Implements main() of a worker that knows these kinds: [--root=DIR] JOB, then further jobs that the daemon
/// sends.
[[nodiscard]] int worker_main(const core::StepKinds& kinds, int argc, char* argv[]);

} // namespace gpuhost::host
