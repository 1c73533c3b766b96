// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/ctl/doctor.hpp"

namespace gpuhost::ctl {

/// What the files of a host say. What can't be read is as if it were not there.
[[nodiscard]] DoctorFacts read_doctor_facts(const base::Root& root);
/// What systemd and the kernel's log say of the host that this runs on.
void ask_system(DoctorFacts& facts);

} // namespace gpuhost::ctl
