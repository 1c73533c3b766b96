// SPDX-License-Identifier: Apache-2.0
// Prints whether this host is in order: the first lines of 'status', and the last ones of verbs that change
// the running driver.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/client/request.hpp"
#include "daemon/client/verdict.hpp"
#include "daemon/ctl/cli/session.hpp"

#include <string>

namespace gpuhost::ctl {

/// Exit status of status and wait-ready on a host that is not in order.
inline constexpr int not_ok_exit_status = 3;

using client::Verdict;

/// Returns the verdict of client::verdict_of(), printable.
[[nodiscard]] Verdict verdict_of(const base::Json& host, const base::Json& operation);
/// Waits until no operation runs, and returns the verdict.
[[nodiscard]] base::Result<Verdict> final_verdict(Session& session);
/// Does what run_operation() does. If the operation succeeded, then prints the verdict, or a note if another
/// operation already runs. Returns the exit status of the operation.
[[nodiscard]] base::Result<int> run_operation_with_verdict(Session& session, const client::Request& request);
[[nodiscard]] base::Json to_json(const Verdict& verdict);
/// Returns "OK: …", or "NOT OK: …" and the hint as a line of its own.
[[nodiscard]] std::string render_verdict(const Screen& screen, const Verdict& verdict);

} // namespace gpuhost::ctl
