// SPDX-License-Identifier: Apache-2.0
#include "daemon/exporter/add_metrics.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace gpuhost::exporter {

using base::Json;
using base::PrometheusText;

namespace {

using Rows = std::vector<client::OperationRow>;

std::int64_t seconds(std::uint64_t us) {
    return static_cast<std::int64_t>(us / 1'000'000);
}

void add_running(PrometheusText& text, const Rows& rows, const Json& operation) {
    const auto running =
        std::find_if(rows.rbegin(), rows.rend(), [](const auto& row) { return row.ended_us == 0; });
    text.family("gpuhost_operation_running",
                "1 for the kind of the running operation; 0 without a label if none runs.");
    if (running == rows.rend())
        return text.sample(0);
    text.sample(1, {{"kind", running->kind}});
    text.family("gpuhost_operation_start_timestamp_seconds", "Begin of the running operation.");
    text.sample(seconds(running->began_us), {{"kind", running->kind}});
    const Json& progress = base::member(operation, "progress");
    if (!progress.is_number())
        return;
    text.family("gpuhost_operation_progress_ratio", "Progress of the running operation from 0 to 1.");
    text.ratio(std::clamp(progress.get<double>(), 0.0, 1.0), {{"kind", running->kind}});
}

/// Returns false for an outcome that leaves the host as it was before. It hides no earlier failure.
bool has_changed_host(const std::string& outcome) {
    return outcome != "refused" && outcome != "cancelled";
}

/// Adds the ended operations, without dry runs that found no problem.
void add_ended(PrometheusText& text, const Rows& rows) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> ended; // by kind and outcome
    std::map<std::string, client::OperationRow> newest;                 // by kind
    for (const client::OperationRow& row : rows) {
        if (row.ended_us == 0 || row.state == "checked")
            continue;
        ended[{row.kind, row.state}] = row.ended_us;
        if (has_changed_host(row.state))
            newest[row.kind] = row;
    }
    text.family("gpuhost_last_operation_timestamp_seconds",
                "End of the newest kept operation of each kind and outcome.");
    for (const auto& [key, end] : ended)
        text.sample(seconds(end), {{"kind", key.first}, {"outcome", key.second}});
    text.family("gpuhost_last_operation_outcome",
                "1 for the outcome of the newest operation of each kind that was not refused or cancelled.");
    for (const auto& [kind, row] : newest)
        text.sample(1, {{"kind", kind}, {"outcome", row.state}});
}

} // namespace

void add_operations(PrometheusText& text, const Documents& documents) {
    add_running(text, documents.operations, documents.operation);
    add_ended(text, documents.operations);
}

} // namespace gpuhost::exporter
