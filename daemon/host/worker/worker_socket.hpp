// SPDX-License-Identifier: Apache-2.0
// Both ends of a worker's stdin: a socket that queues the descriptors of its input files, then the names of
// further jobs.
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
    base::UniqueFd daemon; ///< closed when no job follows
    base::UniqueFd worker;
};

/// Returns a socket with these descriptors queued in it.
[[nodiscard]] base::Result<WorkerSocket> socket_with(std::span<const int> descriptors);

/// Receives descriptors in their order; fewer than `expected` if the stream ends early.
[[nodiscard]] std::vector<base::UniqueFd> receive_descriptors(int socket, std::size_t expected);

[[nodiscard]] base::Result<void> send_job(int socket, std::string_view job);

/// Waits for the next job; returns nullopt if there is none.
[[nodiscard]] std::optional<std::string> receive_job(int socket);

} // namespace gpuhost::host
