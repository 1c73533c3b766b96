// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/runtime/call.hpp"
#include "daemon/ctl/runtime/verbs.hpp"
#include "daemon/ctl/runtime/view_runtime_change.hpp"
#include "daemon/ctl/runtime/wanted.hpp"
#include "daemon/runtime/configure/plan.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Json;
using base::Result;

namespace {

constexpr Option dry_run_option{"dry-run", "",
                                "print the lines to change, the reasons and restarts; change nothing"};
constexpr std::array options{no_restart_option, dry_run_option, root_option, option::no_wait, option::json};

/// Returns the exit status of the problems with which the operation would be refused; 0 if there are none.
int status_of(const Json& plan) {
    Json problems = Json::array();
    for (const Json& runtime : list_of(plan, "runtimes"))
        if (const Json& problem = base::member(runtime, "problem"); problem.is_object())
            problems.push_back(problem);
    return problems.empty() ? 0 : problems_exit_status(problems);
}

/// Prints what the operation would change. Reads the files directly: the plan has their lines, which are not
/// in the plans of gpuhostd.
Result<int> preview(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(root, given_root(given));
    GPUHOST_TRY(plan, runtime::plan_runtimes(root, wanted_of_runtimes(root), given.words(),
                                             given.has(no_restart_option)));
    if (session.wants_json())
        session.print_json(plan);
    else
        session.page_list(render_runtime_plan(session.out(), plan), "No container runtimes.");
    return status_of(plan);
}

Result<int> run(Session& session) {
    if (session.arguments().has(dry_run_option))
        return preview(session);
    if (session.arguments().has(root_option))
        return base::fail(base::Errc::InvalidArgument, "runtimes of a mounted system cannot be configured",
                          "Show what would change there: add --dry-run.");
    return run_operation(session, runtime_request("Configure", session.arguments()));
}

constexpr std::array examples{
    Example{"runtime configure --dry-run", "show the lines to change, and the restarts"},
    Example{"runtime configure containerd", "configure one runtime and restart it"}};

} // namespace

const Verb runtime_configure_verb{
    "runtime configure",
    "[NAME…]",
    "configure container runtimes to give containers GPUs",
    "Configures these runtimes, or all of Runtimes= in gpuhostd.conf(5), to give containers GPUs: by CDI if "
    "their version supports it, and with NVIDIA's runtime classes if configured. Restarts each runtime once "
    "if its effective configuration has changed, and checks the result. If a step fails, the previous files "
    "are restored. Containers keep running during the restart; Docker's do if its live-restore is on. With "
    "--dry-run it prints for each runtime the reason, the lines of each file, the restarts, obstacles, and "
    "what is left to the administrator. This needs no daemon, and root to see all.",
    0,
    100,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
