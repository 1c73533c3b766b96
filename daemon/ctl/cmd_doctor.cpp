// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor_facts.hpp"
#include "daemon/ctl/root_option.hpp"
#include "daemon/ctl/session.hpp"
#include "daemon/ctl/verbs_host.hpp"
#include "daemon/ctl/view_doctor.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

/// Does not start the daemon: whether it runs is a question, too.
base::Result<void> ask_daemon(Session& session, DoctorFacts& facts) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(runs, client->running());
    if (!runs)
        return base::fail(base::Errc::NotFound, "it does not run");
    GPUHOST_TRY(host, client->describe_host());
    facts.host = std::move(host);
    GPUHOST_TRY(rows, client->list_operations());
    if (rows.empty())
        return {};
    GPUHOST_TRY(operation, client->describe_operation(rows.back().id));
    facts.operation = std::move(operation);
    return {};
}

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    DoctorFacts facts = read_doctor_facts(root);
    if (facts.is_host) {
        ask_system(facts);
        if (const auto asked = ask_daemon(session, facts); !asked)
            facts.silence = asked.error().message;
    }
    const base::Json found = diagnose(facts);
    if (session.wants_json())
        session.print_json(found);
    else
        session.print(render_diagnosis(session.out(), found));
    return base::string_or(found, "result", "") == name(Health::Error)
               ? base::info(base::Errc::BadContent).exit_code
               : 0;
}

} // namespace

const Verb doctor_verb{
    "doctor",
    "",
    "say what is wrong on this host, and what to do about it",
    "Looks at everything that keeps a host from giving GPUs to containers: gpuhostd and its units, the "
    "driver, the kernels, "
    "what others put in the way, disks, clock, CDI, container runtimes, certificates. Each check says ok, "
    "warning, error or skipped, "
    "and the next step. Exit status 9 if one is an error. Changes nothing, works without the daemon and with "
    "--root "
    "on a mounted system; root sees more.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
