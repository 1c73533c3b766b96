// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/doctor/doctor.hpp"

namespace gpuhost::ctl {

Diagnosis check_daemon(const DoctorFacts& facts) {
    if (!facts.is_host)
        return skipped("this is a mounted system");
    if (facts.host.is_object())
        return well("gpuhostd answers, the host is " + text_of(facts.host, "state"));
    return error("gpuhostd does not answer: " + facts.silence,
                 "systemctl start gpuhostd; systemctl status gpuhostd");
}

Diagnosis check_version(const DoctorFacts& facts) {
    if (!facts.host.is_object())
        return skipped("gpuhostd was not queried");
    const std::string version = text_of(facts.host, "version");
    if (version == facts.client_version)
        return well("both have version " + version);
    return warning("gpuhostd is " + version + ", gpuhostctl " + facts.client_version,
                   "systemctl restart gpuhostd");
}

Diagnosis check_units(const DoctorFacts& facts) {
    if (!facts.failed_units)
        return skipped("systemd was not queried");
    if (!facts.failed_units->empty())
        return error("failed: " + base::join(*facts.failed_units, ", "),
                     "systemctl status " + facts.failed_units->front());
    if (!facts.masked_units.empty())
        return warning("masked: " + base::join(facts.masked_units, ", "),
                       "systemctl unmask " + facts.masked_units.front());
    return well("no unit of gpuhost failed or is masked");
}

Diagnosis check_operation(const DoctorFacts& facts) {
    if (!facts.host.is_object())
        return skipped("gpuhostd was not queried");
    const std::string state = text_of(facts.host, "state");
    const std::string id = std::to_string(number_of(facts.operation, "id"));
    const std::string last = text_of(facts.operation, "state");
    if (state == "reboot-required")
        return error("this host requires a reboot", "systemctl reboot");
    if (state == "busy")
        return warning("operation " + id + " is running: " + text_of(facts.operation, "title"),
                       "gpuhostctl operation wait " + id);
    if (state == "degraded") {
        const std::string way = way_to_driver(facts);
        return error("this host does not match its configuration",
                     way == "gpuhostctl apply" ? "gpuhostctl apply --dry-run; gpuhostctl apply" : way);
    }
    if (last == "failed" || last == "rolled-back" || last == "incomplete")
        return warning("operation " + id + " was the last one, its outcome is " + last,
                       "gpuhostctl operation show " + id);
    return well("nothing is pending");
}

/// Checks for workers that are left. A worker that hangs in the kernel can't be killed, so it outlives its
/// operation.
Diagnosis check_workers(const DoctorFacts& facts) {
    if (!facts.is_host)
        return skipped("this is a mounted system");
    if (!facts.workers)
        return skipped("this host does not use cgroup v2, which shows the processes of units");
    const std::vector<std::string>& workers = *facts.workers;
    if (workers.empty())
        return well("no worker is running");
    if (!facts.host.is_object())
        return skipped("not known whether gpuhostd waits for " + base::join(workers, ", "));
    if (base::member(facts.host, "operation").is_number())
        return well("an operation is running");
    return error("still running: " + base::join(workers, ", "),
                 "systemctl status " + workers.front() + "; reboot if it hangs in the kernel");
}

Diagnosis check_settings(const DoctorFacts& facts) {
    if (!facts.host.is_object())
        return skipped("gpuhostd was not queried");
    const auto problems = base::strings_or_empty(facts.host, "config_problems");
    if (problems.empty())
        return well("all lines are valid");
    return warning(base::join(problems, "; "),
                   "Show all: gpuhostctl config check. Correct the files, then run: gpuhostctl reload.");
}

} // namespace gpuhost::ctl
