// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/runtime/call.hpp"
#include "daemon/ctl/runtime/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{no_restart_option, option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    return run_operation(session, runtime_request("Restore", session.arguments()));
}

constexpr std::array examples{
    Example{"runtime unconfigure docker --no-restart", "take out gpuhostd's lines, restart Docker later"}};

} // namespace

const Verb runtime_unconfigure_verb{
    "runtime unconfigure",
    "[NAME…]",
    "remove gpuhostd's changes from the configuration of runtimes",
    "Removes gpuhostd's changes from the configuration of these runtimes, or of all; other changes stay. "
    "From then on 'apply' leaves these runtimes alone, until 'runtime configure' names them or all.",
    0,
    100,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
