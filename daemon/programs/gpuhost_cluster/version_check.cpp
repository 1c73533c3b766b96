// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/version_check.hpp"

#include "daemon/base/json.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/programs/gpuhost_cluster/operation_result.hpp"

#include <utility>
#include <vector>

namespace gpuhost {

using base::Json;
using base::member;
using base::Result;
using base::string_or;
using cluster::Task;
using cluster::Time;

namespace {

constexpr Time between_checks{300'000}; ///< after a failed check; earlier if the store of drivers changes
constexpr Time between_tries{15'000};   ///< while gpuhostd is busy or does not answer

} // namespace

Task VersionCheck::result(const std::string& version) const {
    return version == version_ ? result_ : Task();
}

void VersionCheck::begin(const std::string& version, const cluster::UpgradePolicy* policy) {
    const bool again = version == version_;
    const bool is_under_way = is_pending_ || dry_run_ != 0;
    const bool waits = again_ && cluster::now() < *again_;
    if (again && (is_under_way || waits || result_.is_done()))
        return;
    version_ = version;
    again_ = cluster::now() + between_checks;
    dry_run_ = 0;
    ++number_;
    is_pending_ = true;
    // While a check is repeated, the previous result is valid.
    if (!again)
        result_ = {Task::State::Running, "", false};
    const bool minds_pods =
        policy != nullptr && (!policy->wait_for.empty() || policy->deletion.enabled || policy->drain.enabled);
    if (!minds_pods)
        return plan();
    access_.check(policy->override_pdb, [this, number = number_](const Result<void>& able) {
        if (number != number_)
            return;
        if (!able) {
            fail({able.error().code, "can't move pods: " + able.error().message, ""});
            again_ = cluster::now() + between_tries;
            return;
        }
        plan();
    });
}

void VersionCheck::plan() {
    const client::Call plan = client::driver_call(
        "Plan", {std::string("swap"), std::vector<std::string>{version_}, client::Options{}});
    daemon_.ask(plan, [this, number = number_](const Result<Json>& planned) {
        if (number != number_)
            return;
        if (!planned)
            return fail(planned.error());
        if (const std::string problems = lasting_problems(member(*planned, "problems")); !problems.empty())
            return end({Task::State::Failed, problems, false});
        run_dry();
    });
}

void VersionCheck::run_dry() {
    daemon_.start(client::driver_call("Swap", {version_}), {{"dry-run", true}},
                  [this, number = number_](const Result<std::uint64_t>& started) {
                      if (number != number_)
                          return;
                      is_pending_ = false;
                      if (!started)
                          return fail(started.error());
                      dry_run_ = *started;
                      if (dry_run_ == 0) // the version runs already
                          end({Task::State::Done, "", false});
                  });
}

void VersionCheck::end(Task result) {
    is_pending_ = false;
    result_ = std::move(result);
}

/// Handles an error of a check. If the error says nothing about the version, the check is repeated soon;
/// otherwise the check fails.
void VersionCheck::fail(const base::Error& why) {
    if (!is_silent(why))
        return end({Task::State::Failed, why.message, false});
    end({});
    again_ = cluster::now() + between_tries;
}

void VersionCheck::follow(const Result<Json>& description) {
    const std::string state = description ? string_or(*description, "state", "") : "";
    if (is_running(state))
        return;
    dry_run_ = 0;
    if (!description)
        return fail(description.error());
    const std::string problems = lasting_problems(member(*description, "problems"));
    if (problems.empty() && (state == "checked" || state == "refused"))
        return end({Task::State::Done, "", false});
    end({Task::State::Failed, problems.empty() ? text_of(member(*description, "error")) : problems, false});
}

void VersionCheck::retry() {
    if (result_.has_failed())
        again_ = cluster::now();
}

void VersionCheck::forget() {
    result_ = {};
    dry_run_ = 0;
    is_pending_ = false;
    again_.reset();
    ++number_;
}

} // namespace gpuhost
