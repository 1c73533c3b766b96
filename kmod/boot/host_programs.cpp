// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/host_programs.hpp"

namespace gpuhost::kmod {

bool runs_programs_of(const base::Root& root) {
    return root.is_host();
}

} // namespace gpuhost::kmod
