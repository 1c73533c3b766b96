// SPDX-License-Identifier: Apache-2.0
// Decides whether this host is in order. The first line and the exit status of 'status' show this verdict.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// Exit status of status and wait-ready on a host that is not in order.
inline constexpr int not_ok_exit_status = 3;

struct Verdict {
    bool ok = false;
    std::string text;
    std::string hint; ///< what to do first; empty if ok
};

/// Returns the verdict. `host` is the document of Manager.Describe. `operation` is the document of the
/// running operation, or null.
[[nodiscard]] Verdict verdict_of(const base::Json& host, const base::Json& operation);
[[nodiscard]] base::Json to_json(const Verdict& verdict);
/// Returns one line: "OK: …" or "NOT OK: … HINT".
[[nodiscard]] std::string render_verdict(const Screen& screen, const Verdict& verdict);

} // namespace gpuhost::ctl
