// SPDX-License-Identifier: Apache-2.0
// In place of kmod/boot/host_programs.cpp: a tree's own programs, which a test has put there, unless it is
// mounted to be rescued.
#include "daemon/host/manager/mounted_system.hpp"
#include "kmod/boot/host_programs.hpp"

namespace gpuhost::kmod {

bool runs_programs_of(const base::Root& root) {
    return !root.is_host() && root.directory() != host::rescue_place;
}

} // namespace gpuhost::kmod
