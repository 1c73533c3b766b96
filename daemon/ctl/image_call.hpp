// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/client.hpp"

namespace gpuhost::ctl {

/// A method of org.gpuhost1.Image.
[[nodiscard]] inline Call image_call(std::string method, std::vector<Argument> arguments) {
    return {"/org/gpuhost1/image", "org.gpuhost1.Image", std::move(method), std::move(arguments)};
}

} // namespace gpuhost::ctl
