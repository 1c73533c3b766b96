// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/runtime/verbs.hpp"
#include "daemon/ctl/runtime/view_runtime_change.hpp"
#include "daemon/ctl/runtime/wanted.hpp"
#include "daemon/runtime/configure/plan.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

/// Fails with the names of the runtimes that are not configured as intended. An administrator of many hosts
/// often reads only this line.
base::Result<int> conclude(const base::Json& checked) {
    std::string bad;
    for (const base::Json& runtime : list_of(checked, "runtimes"))
        if (!base::bool_or(runtime, "ok", false))
            bad += (bad.empty() ? "" : ", ") + text_of(runtime, "name");
    if (bad.empty())
        return 0;
    return base::fail(base::Errc::BadContent, "not configured as intended: " + bad,
                      "Show the differences: gpuhostctl runtime configure --dry-run.");
}

base::Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(root, given_root(given));
    GPUHOST_TRY(checked, runtime::verify_runtimes(root, wanted_of_runtimes(root), given.words()));
    if (session.wants_json())
        session.print_json(checked);
    else
        session.page_list(render_runtime_checks(session.out(), checked), "No container runtimes.");
    return conclude(checked);
}

constexpr std::array examples{Example{"runtime verify", "check that containers get GPUs as intended"}};

} // namespace

const Verb runtime_verify_verb{
    "runtime verify",
    "[NAME]",
    "check the configuration of container runtimes",
    "Checks for each runtime, or for NAME only, whether the files that it reads match the result of 'runtime "
    "configure', and whether it runs with them. The exit status is 9 if one does not; its checks are on "
    "stdout then too. Changes nothing; needs no daemon, and root to see all.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
