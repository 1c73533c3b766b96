// SPDX-License-Identifier: Apache-2.0
// gpuhost-worker: runs phases of steps in the sandbox that their kinds require.
#include "daemon/host/worker/worker.hpp"
#include "daemon/programs/components.hpp"

int main(int argc, char* argv[]) {
    gpuhost::core::StepKinds kinds;
    gpuhost::add_step_kinds(kinds);
    return gpuhost::host::worker_main(kinds, argc, argv);
}
