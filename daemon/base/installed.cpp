// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/installed.hpp"

namespace gpuhost::base {

std::string installed_program(std::string_view name) {
    return GPUHOST_LIBEXECDIR "/" + std::string(name);
}

} // namespace gpuhost::base
