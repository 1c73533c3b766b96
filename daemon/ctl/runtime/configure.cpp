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
    "configure container runtimes to give containers GPUs",
    "Configures these runtimes, or all of Runtimes= in gpuhostd.conf(5), to give containers GPUs: by CDI if "
    "their version supports it, and with NVIDIA's runtime classes if configured. Writes the files as "
    "'runtime plan' shows them, restarts each runtime once if its effective configuration has changed, and "
    "checks the result. If a step fails, the previous files are restored. Containers keep running during the "
    "restart; Docker's do if its live-restore is on.",
    0,
    100,
    options,
    run,
};

} // namespace gpuhost::ctl
