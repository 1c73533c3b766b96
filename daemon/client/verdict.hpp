// SPDX-License-Identifier: Apache-2.0
// Decides from gpuhostd's documents whether this host is in order.
#pragma once

#include "daemon/base/json_fwd.hpp"

#include <string>

namespace gpuhost::client {

struct Verdict {
    bool ok = false;
    std::string text; ///< may quote gpuhostd's documents: make it printable for a terminal
    std::string hint; ///< what to do first; empty if ok
};

/// Returns the verdict. `host` is the document of Manager.Describe. `operation` is the document of the
/// operation that runs, else of the last one, or null.
[[nodiscard]] Verdict verdict_of(const base::Json& host, const base::Json& operation);

} // namespace gpuhost::client
