// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/client.hpp"

namespace gpuhost::client {

/// Describes a call of a method of org.gpuhost1.Devices; sends nothing.
[[nodiscard]] inline Call devices_call(std::string method, std::vector<Argument> arguments = {}) {
    return {"/org/gpuhost1/devices", "org.gpuhost1.Devices", std::move(method), std::move(arguments)};
}

} // namespace gpuhost::client
