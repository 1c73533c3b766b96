// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/doctor/facts.hpp"
#include "daemon/ctl/doctor/view.hpp"
#include "daemon/ctl/host/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option all_option{"all", "", "show skipped checks too"};
constexpr std::array options{all_option, root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    const base::Json found = diagnose(gather_doctor_facts(root, [&] { return session.client(); }));
    if (session.wants_json())
        session.print_json(found);
    else
        session.page(render_diagnosis(session.out(), found, session.arguments().has(all_option)));
    return base::string_or(found, "result", "") == name(Health::Error)
               ? base::info(base::Errc::BadContent).exit_code
               : 0;
}

constexpr std::array examples{
    Example{"doctor", "check this host, and print the next step for each fault"},
    Example{"doctor --root=/mnt", "check a system that is mounted and does not boot"}};

} // namespace

const Verb doctor_verb{
    "doctor",
    "",
    "diagnose this host",
    "Diagnoses this host: gpuhostd and its units, the driver, the kernels, files of other programs that "
    "conflict, disk space, clock, CDI, container runtimes, certificates. Each check prints error, warning "
    "or ok, a sentence, and the next step; errors are first. --all shows skipped checks too. The exit status "
    "is 9 if one is an error. Changes and "
    "starts nothing. Works without the daemon, and with --root on a mounted system; checks that need a "
    "running system are skipped there. Some checks need root to see everything.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
