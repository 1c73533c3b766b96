// SPDX-License-Identifier: Apache-2.0
// Replaces kmod/boot/host_programs.cpp: uses programs that a test has put into the root, unless the root is a
// mounted system to be rescued.
#include "daemon/host/manager/mounted_system.hpp"
#include "kmod/boot/host_programs.hpp"

namespace gpuhost::kmod {

bool runs_programs_of(const base::Root& root) {
    return !root.is_host() && root.directory() != host::rescue_place;
}

} // namespace gpuhost::kmod
