// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/contains.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/upgrade/upgrade.hpp"

namespace gpuhost::ctl {

using base::Result;

Result<int> Upgrade::dry_run() {
    GPUHOST_CHECK(client_.subscribe());
    return outcome_.finish_dry_run(check_parts());
}

Result<int> Upgrade::check_parts() {
    GPUHOST_CHECK(wait_until_idle(session_));
    if (input_.kind != UpgradeInput::Kind::Bundle)
        GPUHOST_CHECK(choose());
    GPUHOST_TRY(status, check_import());
    if (status != 0)
        return status;
    GPUHOST_CHECK(choose());
    return check_later_parts();
}

Result<int> Upgrade::check_import() {
    if (input_.kind == UpgradeInput::Kind::Peer) {
        outcome_.add_unchecked(noun(Part::Import));
        return 0;
    }
    if (input_.kind == UpgradeInput::Kind::Drivers)
        return import_drivers(true);
    if (!input_.is_bundle())
        return 0;
    GPUHOST_TRY(ran, check_bundle());
    return outcome_.add(ran);
}

/// Checks the first of the later parts that has something to do. The parts after it depend on its result.
Result<int> Upgrade::check_later_parts() {
    GPUHOST_TRY(facts, choice_facts());
    if (!version_ || (!version_->empty() && !base::contains(facts.store, *version_)))
        return leave_unchecked(Part::Import);
    for (const Part part : {Part::Build, Part::Swap, Part::Rest}) {
        if (part == Part::Swap && concerns(part) && !offer_.driver.empty()) {
            outcome_.add_unchecked(noun(part) + ": gpuhost-cluster checks it when the host's turn comes");
            continue;
        }
        GPUHOST_TRY(request, request_of(part));
        if (!request)
            continue;
        GPUHOST_TRY(is_left, leave_swap(part, *request));
        if (is_left) {
            outcome_.add_unchecked(noun(part) + ": gpuhost-cluster checks it when the host's turn comes");
            continue;
        }
        GPUHOST_TRY(ran, check_request(session_, *request));
        if (const int status = outcome_.add(ran); status != 0)
            return status;
        return leave_unchecked(part);
    }
    return 0;
}

int Upgrade::leave_unchecked(Part after) {
    const char* const condition = after == Part::Import  ? ": depends on the import"
                                  : after == Part::Build ? ": depends on the build"
                                                         : ": depends on the swap";
    for (const Part part : {Part::Build, Part::Swap, Part::Rest})
        if (part > after && concerns(part))
            outcome_.add_unchecked(noun(part) + condition);
    return 0;
}

} // namespace gpuhost::ctl
