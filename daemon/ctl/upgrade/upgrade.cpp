// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/upgrade/upgrade.hpp"

#include "daemon/ctl/cli/document.hpp"

namespace gpuhost::ctl {

using base::Json;
using base::Result;

namespace {

/// Returns true if the command would fail again for the same reason: it names what does not exist or fit.
bool is_wrong_command(const base::Error& error) {
    return error.code == base::Errc::InvalidArgument || error.code == base::Errc::NotFound ||
           error.code == base::Errc::Refused;
}

} // namespace

Result<int> Upgrade::run() {
    GPUHOST_CHECK(client_.subscribe());
    session_.set_continuation(continuation());
    GPUHOST_CHECK(wait_until_idle(session_)); // for example for an earlier 'upgrade' that was interrupted
    const Result<int> checked = check_first();
    if (!checked && is_wrong_command(checked.error()))
        return outcome_.fail(checked.error());
    if (!checked || *checked != 0)
        return stop(Part::Import, checked);
    for (const Part part : {Part::Import, Part::Build, Part::Swap, Part::Rest}) {
        const Result<int> status = run_part(part);
        if (!status || *status != 0)
            return stop(part, status);
    }
    GPUHOST_TRY(verdict, final_verdict(session_));
    return outcome_.finish(verdict);
}

/// Checks what can be checked before the first change: the bundle, and the choice of the version.
Result<int> Upgrade::check_first() {
    if (input_.kind == UpgradeInput::Kind::Bundle) {
        GPUHOST_TRY(checked, check_bundle());
        if (checked.kind == Ran::Kind::DryRun)
            checked.kind = Ran::Kind::Refused; // it is shown only if it has problems
        if (checked.exit_status() != 0)
            return outcome_.add(checked);
    }
    GPUHOST_CHECK(choose());
    return 0;
}

int Upgrade::stop(Part at, const Result<int>& status) {
    std::vector<std::string> left;
    for (const Part part : {Part::Import, Part::Build, Part::Swap, Part::Rest})
        if (part >= at && concerns(part))
            left.push_back(noun(part));
    return outcome_.stop(status, left, continuation());
}

Result<int> Upgrade::run_part(Part part) {
    session_.set_continuation(continuation());
    if (!concerns(part))
        return 0;
    GPUHOST_CHECK(wait_until_idle(session_));
    Result<int> status = part == Part::Import ? import() : run_later_part(part);
    if (!status || *status != 0)
        return status;
    if (part == Part::Import) {
        imported_ = true;
        outcome_.add_done(noun(part));
        GPUHOST_CHECK(choose());
    }
    return 0;
}

/// Returns false for a part that certainly has nothing to do.
bool Upgrade::concerns(Part part) const {
    if (part == Part::Import)
        return input_.kind != UpgradeInput::Kind::None && !imported_;
    return part == Part::Rest || !version_ || !version_->empty();
}

/// Runs one of the parts after the import.
Result<int> Upgrade::run_later_part(Part part) {
    if (part == Part::Swap && !offer_.driver.empty()) {
        GPUHOST_CHECK(request_upgrade(session_, *version_));
        outcome_.add_done(noun(part));
        return 0;
    }
    GPUHOST_TRY(request, request_of(part));
    if (!request)
        return 0;
    GPUHOST_TRY(is_left, leave_swap(part, *request));
    if (is_left) {
        outcome_.set_scheduled(*version_);
        note_turn(session_, *version_);
        return 0;
    }
    GPUHOST_TRY(ran, run_request(session_, *request));
    const int status = outcome_.add(ran);
    if (status == 0)
        outcome_.add_done(part == Part::Build ? "the build of the modules of " + *version_ : noun(part));
    return status;
}

std::string Upgrade::noun(Part part) const {
    const bool named = version_ && !version_->empty();
    switch (part) {
    case Part::Import:
        return input_.noun();
    case Part::Build:
        return named ? "a build of the modules of " + *version_ + ", if needed"
                     : "a build of modules, if needed";
    case Part::Swap:
        if (!offer_.driver.empty())
            return "the request to gpuhost-cluster for driver " + offer_.driver;
        if (!offer_.scheduled.empty())
            return "the upgrade to driver " + offer_.scheduled + " by gpuhost-cluster";
        return named ? "the swap to driver " + *version_ : "the swap to the driver";
    case Part::Rest:
        break;
    }
    return "the rest of the configuration";
}

/// Returns the command that continues from here.
std::string Upgrade::continuation() const {
    const bool no_input = imported_ || input_.kind == UpgradeInput::Kind::None;
    if (no_input && version_ && version_->empty())
        return "gpuhostctl apply";
    std::string version = version_.value_or(input_.version);
    if (version.empty() && imported_ && brought_ && !brought_->empty())
        version = suggested_version(*brought_, facts_);
    return "gpuhostctl upgrade" + (version.empty() ? "" : " " + version) + arguments_text(!no_input);
}

} // namespace gpuhost::ctl
