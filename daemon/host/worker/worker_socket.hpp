// SPDX-License-Identifier: Apache-2.0
// A worker's stdin: a socket pair. The daemon sends the descriptors of the input files through it. After the
// daemon has closed its end, or has died, the worker begins no other step.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace gpuhost::host {

struct WorkerSocket {
    base::UniqueFd daemon;
    base::UniqueFd worker;
};

/// Returns a socket pair with these descriptors queued for the worker.
[[nodiscard]] base::Result<WorkerSocket> socket_with(std::span<const int> descriptors);

/// Receives `expected` descriptors in their order; fewer if the stream ends early.
[[nodiscard]] std::vector<base::UniqueFd> receive_descriptors(int socket, std::size_t expected);

/// Returns true after the other end was closed. All descriptors must have been received.
[[nodiscard]] bool has_ended(int socket);

} // namespace gpuhost::host
