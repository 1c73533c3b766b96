// SPDX-License-Identifier: Apache-2.0
// Starting an operation and staying with it to its end: what most verbs do.
#pragma once

#include "daemon/client/request.hpp"
#include "daemon/ctl/cli/deadline.hpp"
#include "daemon/ctl/cli/session.hpp"

#include <cstdint>

namespace gpuhost::ctl {

/// The whole of a verb that starts an operation: --dry-run, --no-wait, waiting, outcome, exit status.
[[nodiscard]] base::Result<int> run_operation(Session& session, const Request& request,
                                              const Deadline& deadline = {});

/// What --no-wait prints.
void print_operation_id(const Session& session, std::uint64_t id);
/// Waits for an operation's end, with progress on stderr. Call Client::subscribe() before. Timeout: it goes on.
[[nodiscard]] base::Result<base::Json> follow_operation(Session& session, std::uint64_t id,
                                                        const Deadline& deadline = {});
/// Prints how an operation ended; the exit status that says the same.
[[nodiscard]] int report_operation(Session& session, const base::Json& operation);
/// Both.
[[nodiscard]] base::Result<int> finish_operation(Session& session, std::uint64_t id,
                                                 const Deadline& deadline = {});

} // namespace gpuhost::ctl
