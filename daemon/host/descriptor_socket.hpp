// SPDX-License-Identifier: Apache-2.0
// A worker's stdin: a socket with the descriptors of its input files queued in it. Both of its ends.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace gpuhost::host {

/// The worker's end, filled. Reads as end of file once the descriptors are taken.
[[nodiscard]] base::Result<base::UniqueFd> socket_with(std::span<const int> descriptors);

/// Takes them, in their order. Fewer than `expected` where the stream ends before.
[[nodiscard]] std::vector<base::UniqueFd> take_descriptors(int socket, std::size_t expected);

} // namespace gpuhost::host
