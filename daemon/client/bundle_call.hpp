// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/client.hpp"

namespace gpuhost::client {

/// Describes a call of a method of org.gpuhost1.Bundle; sends nothing.
[[nodiscard]] inline Call bundle_call(std::string method, std::vector<Argument> arguments = {}) {
    return {"/org/gpuhost1/bundle", "org.gpuhost1.Bundle", std::move(method), std::move(arguments)};
}

} // namespace gpuhost::client
