// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/plan.hpp"

#include "daemon/ctl/cdi/verbs.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/runtime/verbs.hpp"
#include "daemon/ctl/runtime/view_runtime_change.hpp"
#include "daemon/ctl/runtime/wanted.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(root, given_root(given));
    GPUHOST_TRY(plan, runtime::plan_runtimes(root, wanted_of_runtimes(root), given.words()));
    if (session.wants_json())
        session.print_json(plan);
    else
        session.print(render_runtime_plan(session.out(), plan));
    return 0;
}

} // namespace

const Verb runtime_plan_verb{
    "runtime plan",
    "[NAME]",
    "show what runtime configure would change",
    "Shows what 'runtime configure' would change: for each runtime, or for NAME only, the reason, the lines "
    "of each file, and the restarts. Also shows obstacles, and changes that are left to the administrator "
    "because another program writes the file. Changes nothing; needs no daemon, and root to see all.",
    0,
    1,
    options,
    run,
};

} // namespace gpuhost::ctl
