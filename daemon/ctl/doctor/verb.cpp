// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/doctor/facts.hpp"
#include "daemon/ctl/doctor/view.hpp"
#include "daemon/ctl/host/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    const base::Json found = diagnose(gather_doctor_facts(root, [&] { return session.client(); }));
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
