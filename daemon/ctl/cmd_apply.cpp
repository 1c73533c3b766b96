// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/follow.hpp"
#include "daemon/ctl/only_option.hpp"
#include "daemon/ctl/verbs_host.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{only_option, option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    const Options only = only_given(session.arguments());
    return run_operation(session, {manager_call("Apply"), only, manager_call("Plan", {only})});
}

} // namespace

const Verb apply_verb{
    "apply",
    "",
    "make the host what is wanted",
    "Does what plan shows, as one operation: all of it, or nothing if a step fails.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
