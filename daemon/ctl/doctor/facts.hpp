// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/client/client.hpp"
#include "daemon/ctl/doctor/doctor.hpp"

#include <functional>

namespace gpuhost::ctl {

/// All of them. On a mounted system nobody is asked and `connect` is not called.
[[nodiscard]] DoctorFacts gather_doctor_facts(const base::Root& root,
                                              const std::function<base::Result<Client*>()>& connect);

/// What the files of a host say. What can't be read is as if it were not there.
[[nodiscard]] DoctorFacts read_doctor_facts(const base::Root& root);
/// What systemd and the kernel's log say of the host that this runs on.
void ask_system(DoctorFacts& facts);
/// What gpuhostd says, or why it does not answer. Does not start it.
void ask_daemon(Client& client, DoctorFacts& facts);
/// Units of workers that have processes now; nothing on a host without cgroup v2.
[[nodiscard]] std::optional<std::vector<std::string>> running_workers(const base::Root& root);

} // namespace gpuhost::ctl
