// SPDX-License-Identifier: Apache-2.0
// Writes the metrics of a host for Prometheus from gpuhostd's documents.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/client/client.hpp"

#include <string>
#include <vector>

namespace gpuhost::exporter {

struct Documents {
    base::Json host;                              ///< of Manager.Describe
    std::vector<client::OperationRow> operations; ///< the newest last
    base::Json operation;                         ///< the running operation; null if none runs
    base::Json history;                           ///< of Driver.History; null if it is not known
};

/// Returns the metrics. `documents` is null if gpuhostd does not answer: the text then says so.
[[nodiscard]] std::string metrics_text(const Documents* documents);

} // namespace gpuhost::exporter
