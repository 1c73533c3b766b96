// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/doctor/facts.hpp"

#include <algorithm>
#include <iterator>

namespace gpuhost::ctl {

using base::Result;

namespace {

using Units = std::optional<std::vector<std::string>>;

Result<void> ask(client::Client& client, DoctorFacts& facts) {
    GPUHOST_TRY(runs, client.running());
    if (!runs)
        return base::fail(base::Errc::NotFound, "it is not running");
    GPUHOST_TRY(host, client.describe_host());
    facts.host = std::move(host);
    GPUHOST_TRY(rows, client.list_operations());
    const auto* last = client::last_operation(rows);
    if (last == nullptr)
        return {};
    GPUHOST_TRY(operation, client.describe_operation(last->id));
    facts.operation = std::move(operation);
    return {};
}

/// Returns the units that are in both lists, which are sorted by name, as Root::list() returns them.
Units in_both(const Units& before, const Units& after) {
    if (!before || !after)
        return std::nullopt;
    std::vector<std::string> both;
    std::set_intersection(before->begin(), before->end(), after->begin(), after->end(),
                          std::back_inserter(both));
    return both;
}

} // namespace

void ask_daemon(client::Client& client, DoctorFacts& facts) {
    if (const auto asked = ask(client, facts); !asked)
        facts.silence = asked.error().message;
}

Units running_workers(const base::Root& root) {
    if (!root.exists("/sys/fs/cgroup/cgroup.controllers"))
        return std::nullopt;
    const std::string slice = "/sys/fs/cgroup/system.slice";
    std::vector<std::string> running;
    for (const std::string& unit : root.list(slice).value_or(std::vector<std::string>()))
        if (base::starts_with(unit, "gpuhost-worker-") &&
            !root.read_line(slice + "/" + unit + "/cgroup.procs").value_or("").empty())
            running.push_back(unit);
    return running;
}

DoctorFacts gather_doctor_facts(const base::Root& root,
                                const std::function<Result<client::Client*>()>& connect) {
    DoctorFacts facts = read_doctor_facts(root);
    if (!facts.is_host)
        return facts;
    ask_system(facts);
    // A worker that starts or ends during the query is not a leftover, so keep only workers seen before and
    // after it.
    const Units before = running_workers(root);
    if (const auto client = connect())
        ask_daemon(**client, facts);
    else
        facts.silence = client.error().message;
    facts.workers = in_both(before, running_workers(root));
    return facts;
}

} // namespace gpuhost::ctl
