// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/runtime/call.hpp"
#include "daemon/ctl/runtime/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{no_restart_option, option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    return run_operation(session, runtime_request("Configure", session.arguments()));
}

} // namespace

const Verb runtime_configure_verb{
    "runtime configure",
    "[NAME…]",
    "have container runtimes give containers GPUs",
    "Does what runtime plan shows, as one operation: writes the runtimes' configuration, restarts each once "
    "where what it is configured to do has changed, and looks whether it does that. If a step fails, the "
    "files "
    "are as they were. Without NAME, all runtimes that gpuhostd.conf(5) names. Containers go on "
    "meanwhile; Docker's do where its live-restore is on.",
    0,
    100,
    options,
    run,
};

} // namespace gpuhost::ctl
