// SPDX-License-Identifier: Apache-2.0
// gpuhost-worker: runs phases of steps in the sandbox that their kinds require.
#include "daemon/host/worker/worker.hpp"
#include "daemon/programs/components.hpp"

int main(int argc, char* argv[]) {
    return gpuhost::host::worker_main(gpuhost::step_code(), argc, argv);
}
