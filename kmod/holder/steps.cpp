// SPDX-License-Identifier: Apache-2.0
// Step holders.wait runs before any change. It waits until no process outside of the client units holds the
// driver. Step holders.clear runs after automatic loading was blocked (kmod/load/autoload_block.hpp) and the
// client units were stopped. It fails if a process still holds the driver; with policy "terminate" it
// terminates holders first. Both fail, before they end or wait for a process, if the host has MIG instances
// that the plan does not save, because they were created after it was made.
// Args of both: {"saves_mig": whether the plan saves MIG instances, "policy": "refuse"|"wait"|"terminate",
// "units": [the client units that units.stop stops], "timeout_usec": limit of the wait, "grace_usec": time
// between SIGTERM and SIGKILL}.
#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/holder/holders.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/step_code.hpp"

#include <algorithm>

#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Result;
using core::Problem;
using core::StepContext;

constexpr unsigned most_rounds = 5;
constexpr std::size_t most_listed = 100; ///< limit of groups in "terminated" of the result
constexpr std::string_view how_to_free =
    "Stop it, or use --holders=wait or --holders=terminate (HolderPolicy= in gpuhostd.conf).";

/// Returns the holders outside of "units", the client units that the swap stops itself.
std::vector<Holder> foreign_holders(const StepContext& context, const base::Json& args) {
    return without_units(find_holders(context.root), base::strings_or_empty(args, "units"));
}

bool is_policy(const base::Json& args, std::string_view policy) {
    return base::string_or(args, "policy", "refuse") == policy;
}

/// Returns true if the driver lists a MIG instance.
bool has_mig_instances(const base::Root& root) {
    const std::string capabilities = "/proc/driver/nvidia/capabilities";
    for (const std::string& gpu : root.list(capabilities).value_or(std::vector<std::string>()))
        for (const std::string& name :
             root.list(capabilities + "/" + gpu + "/mig").value_or(std::vector<std::string>()))
            if (base::starts_with(name, "gi"))
                return true;
    return false;
}

/// Fails with Refused if the host has MIG instances that the plan does not save.
Result<void> check_mig(const StepContext& context, const base::Json& args) {
    if (base::bool_or(args, "saves_mig", true) || !has_mig_instances(context.root))
        return {};
    return base::fail(Errc::Refused,
                      "MIG instances were created after the swap was planned, and would be lost",
                      "Run the swap again: a new plan keeps them.");
}

/// Waits until no process outside of "units" holds the driver. Fails with InUse after "timeout_usec".
Result<void> wait_for_release(StepContext& context, const base::Json& args) {
    const auto timeout = usec_or(args, "timeout_usec", longest_wait);
    const std::uint64_t start = base::monotonic_us();
    for (;;) {
        const std::uint64_t scan_start = base::monotonic_us();
        const std::vector<Holder> holders = foreign_holders(context, args);
        if (holders.empty())
            return {};
        const std::uint64_t now = base::monotonic_us();
        if (now - start >= static_cast<std::uint64_t>(timeout.count()) * 1000)
            return base::fail(Errc::InUse,
                              "the driver is still held after " + std::to_string(timeout.count() / 1000) +
                                  " s by " + describe(holders),
                              "Stop it, or swap with --holders=terminate.");
        context.progress(-1, "waiting for " + describe(holders));
        // Sleeps nine times as long as the scan of all processes lasted, but at least 0.2 s and at most 10 s.
        // Scans of a busy host then use at most a tenth of one CPU.
        ::usleep(
            static_cast<useconds_t>(std::clamp<std::uint64_t>((now - scan_start) * 9, 200'000, 10'000'000)));
    }
}

/// Adds the processes in `ended` to the message: the result of a step that fails is lost.
tl::unexpected<base::Error> fail_after(const base::Json& ended, base::Error why) {
    if (!ended.empty())
        why.message += "; terminated: " + base::join(ended.get<std::vector<std::string>>(), ", ");
    return base::fail(std::move(why));
}

/// Fails with InUse if a process holds the driver. With policy "terminate", terminates the holders first.
/// Repeats that a few times, because services may restart their processes until systemd's start limit is
/// reached.
Result<base::Json> clear(StepContext& context, const base::Json& args) {
    GPUHOST_CHECK(check_mig(context, args));
    const auto grace = usec_or(args, "grace_usec", std::chrono::seconds(30));
    std::vector<Holder> holders = find_holders(context.root);
    base::Json ended = base::Json::array();
    for (unsigned round = 0; round < most_rounds && !holders.empty() && is_policy(args, "terminate");
         ++round) {
        context.progress(-1, "terminating " + describe(holders));
        if (auto done = terminate(context.root, holders, grace); !done)
            return fail_after(ended, done.error());
        for (const HolderGroup& group : group_by_origin(holders))
            if (ended.size() < most_listed)
                ended.push_back(describe_group(group));
        holders = find_holders(context.root);
    }
    if (!holders.empty())
        return fail_after(
            ended, {Errc::InUse, "the driver is held by " + describe(holders), std::string(how_to_free)});
    if (const auto done = check_mig(context, args); !done) // created meanwhile
        return fail_after(ended, done.error());
    return base::Json{{"terminated", std::move(ended)}};
}

/// For each pod, container or unit that has holders, returns a problem with policy "refuse", and warns with
/// policy "terminate".
PreflightResult clear_preflight(StepContext& context, const base::Json& args) {
    std::vector<Problem> problems;
    const bool refuses = is_policy(args, "refuse");
    if (!refuses && !is_policy(args, "terminate"))
        return problems;
    for (const HolderGroup& group : group_by_origin(foreign_holders(context, args))) {
        const std::string held =
            describe_group(group) + (group.size() == 1 ? " holds the driver" : " hold the driver");
        if (refuses)
            problems.push_back({Errc::InUse, held, std::string(how_to_free), group_to_json(group)});
        else
            context.warn(held + " and is terminated");
    }
    return problems;
}

} // namespace

core::StepCode holders_wait_code() {
    core::StepCode code;
    code.name = "holders.wait";
    code.apply = [](StepContext& context, const base::Json& args) -> Result<base::Json> {
        GPUHOST_CHECK(check_mig(context, args));
        GPUHOST_CHECK(wait_for_release(context, args));
        return base::Json::object();
    };
    // Needs no verify: the step holders.clear checks for new holders.
    return code;
}

core::StepCode holders_clear_code() {
    // Needs no verify: clear() has checked, and another scan would lengthen the downtime.
    return {.name = "holders.clear", .preflight = clear_preflight, .apply = clear};
}

} // namespace gpuhost::kmod
