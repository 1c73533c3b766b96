// SPDX-License-Identifier: Apache-2.0
// gpuhost-worker's side of a job: reads the request, runs the phase, and always writes a result.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string_view>

namespace gpuhost::host {

/// Runs the job named `job`: its steps, one after the other, until one fails or stdin has ended. Returns the
/// exit status: 0 if the result of each step that began was written, even if it is an error.
[[nodiscard]] int run_job(const base::Root& root, const core::StepCodes& codes, std::string_view job);

/// Implements main() of gpuhost-worker with the code of these steps. The arguments are [--root=DIR] JOB.
[[nodiscard]] int worker_main(const core::StepCodes& codes, int argc, char* argv[]);

} // namespace gpuhost::host
