// SPDX-License-Identifier: Apache-2.0
// A worker's stdin: a socket pair. The daemon first sends the descriptors of the input files, then the names
// of further jobs.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::host {

struct WorkerSocket {
    base::UniqueFd daemon; ///< the daemon closes it when no job follows
    base::UniqueFd worker;
};

/// Returns a socket pair with these descriptors queued for the worker.
[[nodiscard]] base::Result<WorkerSocket> socket_with(std::span<const int> descriptors);

/// Receives `expected` descriptors in their order; fewer if the stream ends early.
[[nodiscard]] std::vector<base::UniqueFd> receive_descriptors(int socket, std::size_t expected);

[[nodiscard]] base::Result<void> send_job(int socket, std::string_view job);

/// Waits for the name of the next job; returns nullopt after the daemon has closed its end.
[[nodiscard]] std::optional<std::string> receive_job(int socket);

} // namespace gpuhost::host
