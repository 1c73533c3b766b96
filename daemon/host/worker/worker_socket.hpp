// SPDX-License-Identifier: Apache-2.0
// A worker's stdin: a socket with the descriptors of its input files queued in it, and after them the names of further
// jobs. Both of its ends.
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
    base::UniqueFd daemon; ///< dropped, it tells the worker that no job follows
    base::UniqueFd worker;
};

/// With these queued in it.
[[nodiscard]] base::Result<WorkerSocket> socket_with(std::span<const int> descriptors);

/// Takes them, in their order. Fewer than `expected` where the stream ends before.
[[nodiscard]] std::vector<base::UniqueFd> take_descriptors(int socket, std::size_t expected);

[[nodiscard]] base::Result<void> send_job(int socket, std::string_view job);

/// Waits for it; nothing where no other job will come.
[[nodiscard]] std::optional<std::string> take_job(int socket);

} // namespace gpuhost::host
