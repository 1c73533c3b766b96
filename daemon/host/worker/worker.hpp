// SPDX-License-Identifier: Apache-2.0
// The worker's side of a job: reads the request, runs the phase, always writes a result.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string_view>

namespace gpuhost::host {

/// The exit status: 0 once a result is written, whatever it says. `kept`: what steps leave open for those after them.
[[nodiscard]] int run_job(const base::Root& root, const core::StepKinds& kinds, std::string_view job,
                          std::vector<base::UniqueFd>& kept);

/// main() of a worker that knows these kinds: [--root=DIR] JOB, and after it those that the daemon tells it.
[[nodiscard]] int worker_main(const core::StepKinds& kinds, int argc, char* argv[]);

} // namespace gpuhost::host
