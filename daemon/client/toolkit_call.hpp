// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/client.hpp"

namespace gpuhost::client {

/// Describes a call of a method of org.gpuhost1.Toolkit; sends nothing.
[[nodiscard]] inline Call toolkit_call(std::string method, std::vector<Argument> arguments = {}) {
    return {"/org/gpuhost1/toolkit", "org.gpuhost1.Toolkit", std::move(method), std::move(arguments)};
}

} // namespace gpuhost::client
