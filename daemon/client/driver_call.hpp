// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/client.hpp"

namespace gpuhost::client {

/// Returns a call of a method of org.gpuhost1.Driver.
[[nodiscard]] inline Call driver_call(std::string method, std::vector<Argument> arguments = {}) {
    return {"/org/gpuhost1/driver", "org.gpuhost1.Driver", std::move(method), std::move(arguments)};
}

} // namespace gpuhost::client
