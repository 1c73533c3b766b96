// SPDX-License-Identifier: Apache-2.0
// The socket at MetricsListen=.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::cluster {

/// Listens on an address such as "127.0.0.1:9835" or "[::]:9835". The host may get the address later.
[[nodiscard]] base::Result<base::UniqueFd> metrics_socket(const std::string& address);

} // namespace gpuhost::cluster
