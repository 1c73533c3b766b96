// SPDX-License-Identifier: Apache-2.0
// Starts an operation and waits until it ends, as most verbs do.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/client/request.hpp"
#include "daemon/ctl/cli/deadline.hpp"
#include "daemon/ctl/cli/session.hpp"

#include <cstdint>
#include <string>

namespace gpuhost::ctl {

/// The result of a request.
struct Ran {
    enum class Kind {
        Operation, ///< `document` is an operation that ended
        DryRun,    ///< `document` is its plan, with what a check on this host found
        Nothing,   ///< `document` is its plan, which has no steps
        Refused,   ///< `document` is its plan, whose problems prevented the start
    };
    Kind kind = Kind::Operation;
    base::Json document;

    [[nodiscard]] int exit_status() const;
};

/// Runs a request until its operation ends, with progress on stderr, and prints no outcome. Fails if the
/// request cannot be started, unless several problems of its plan are the reason.
[[nodiscard]] base::Result<Ran> run_request(Session& session, const client::Request& request,
                                            const Deadline& deadline = {});
/// Prints the result of a request, and returns the exit status.
[[nodiscard]] int report(Session& session, const Ran& ran);

/// Implements a verb that starts an operation: --dry-run, --no-wait, progress, outcome, exit status.
[[nodiscard]] base::Result<int> run_operation(Session& session, const client::Request& request,
                                              const Deadline& deadline = {});

struct DryRun {
    std::string upgrade; ///< the plan's member "upgrade"; empty: none
    /// If the user may not run the checks, or another operation runs, prints the plan without checks.
    bool may_be_unchecked = false;
};
/// Returns the plan of a request, with the result of all checks that precede the first change. The checks
/// read as much of the host as the operation itself, so they need the same authorization.
[[nodiscard]] base::Result<Ran> check_request(Session& session, const client::Request& request,
                                              const DryRun& how = {});
/// Implements --dry-run: prints the result of check_request().
[[nodiscard]] base::Result<int> preview_operation(Session& session, const client::Request& request,
                                                  const DryRun& how = {});
/// Prints a plan and returns the exit status that a start of it would have.
[[nodiscard]] int print_plan(const Session& session, const base::Json& plan);

/// Prints the operation's id, which is the output of a verb with --no-wait.
void print_operation_id(const Session& session, std::uint64_t id);
/// Waits until an operation ends, with progress on stderr. Call Client::subscribe() first. Fails with Timeout
/// at the deadline; the operation itself continues.
[[nodiscard]] base::Result<base::Json> follow_operation(Session& session, std::uint64_t id,
                                                        const Deadline& deadline = {});
/// Waits until no operation runs, with progress and a note on stderr.
[[nodiscard]] base::Result<void> wait_until_idle(Session& session);
/// Prints how an operation ended and returns the matching exit status. With `next`, also the command that
/// uses what was imported or built.
[[nodiscard]] int report_operation(Session& session, const base::Json& operation, bool next = true);
/// Calls follow_operation() and report_operation().
[[nodiscard]] base::Result<int> finish_operation(Session& session, std::uint64_t id,
                                                 const Deadline& deadline = {});

} // namespace gpuhost::ctl
