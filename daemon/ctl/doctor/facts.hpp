// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/client/client.hpp"
#include "daemon/ctl/doctor/doctor.hpp"

#include <functional>

namespace gpuhost::ctl {

/// Gathers all facts. On a mounted system, queries no service and does not call `connect`.
[[nodiscard]] DoctorFacts gather_doctor_facts(const base::Root& root,
                                              const std::function<base::Result<client::Client*>()>& connect);

/// Reads the facts that are in the host's files. A file that can't be read counts as absent.
[[nodiscard]] DoctorFacts read_doctor_facts(const base::Root& root);
/// Queries systemd and the kernel log of the running host.
void ask_system(DoctorFacts& facts);
/// Queries gpuhostd, or sets `silence` to the reason why it does not answer. Does not start it.
void ask_daemon(client::Client& client, DoctorFacts& facts);
/// Returns the units of workers that have processes now; nullopt on a host without cgroup v2.
[[nodiscard]] std::optional<std::vector<std::string>> running_workers(const base::Root& root);

} // namespace gpuhost::ctl
