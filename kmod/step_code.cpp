// SPDX-License-Identifier: Apache-2.0
#include "kmod/step_code.hpp"

namespace gpuhost::kmod {

std::chrono::milliseconds usec_or(const base::Json& args, std::string_view key,
                                  std::chrono::milliseconds fallback) {
    const std::int64_t usec = base::int_or(args, key, -1);
    return usec < 0 ? fallback : std::chrono::milliseconds(usec / 1000);
}

} // namespace gpuhost::kmod
