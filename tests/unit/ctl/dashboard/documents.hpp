// SPDX-License-Identifier: Apache-2.0
// Sample documents for the tests of the dashboard.
#pragma once

#include "daemon/ctl/dashboard/model.hpp"
#include "tests/unit/ctl/documents.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl::dashboard {

/// Returns a host with two GPUs, a bundle, a cluster, and two operations.
inline Documents sample() {
    using base::Json;
    Documents documents;
    const Json nothing = {{"title", "t"}, {"steps", Json::array()}, {"problems", Json::array()}};
    const Json driver = {
        {"gpus",
         {{{"address", "0000:01:00.0"}, {"device", "0x2330"}, {"driver", "nvidia"}},
          {{"address", "0000:02:00.0"}, {"device", "0x2330"}, {"driver", "nvidia"}}}},
        {"kernel", "6.1.0-50-amd64"},
        {"loaded", {{{"name", "nvidia"}}}},
        {"loaded_version", "550.163.01"},
        {"selected", {{"version", "550.163.01"}}},
        {"store", {{"versions", {{{"version", "550.163.01"}}, {{"version", "535.261.03"}}}}}}};
    const Json images = {{"bundles",
                          {{{"name", "site"},
                            {"generation", 7},
                            {"images", 2},
                            {"bytes", 1024},
                            {"signer", {{"subject", "Site"}}}}}}};
    documents.name = "gpu01";
    documents.host = {{"kernel", "6.1.0-50-amd64"},
                      {"state", "idle"},
                      {"ready", true},
                      {"operation", nullptr},
                      {"components",
                       {{"driver", {{"observed", driver}, {"plan", nothing}}},
                        {"images", {{"observed", images}, {"plan", nothing}}}}}};
    documents.operations = {{11, "driver.import", "committed", "import driver", 900'000'000, 950'000'000},
                            {12, "driver.swap", "committed", "swap driver", 1'000'000'000, 1'012'000'000}};
    documents.operations_problem.clear();
    documents.last = swap_operation("committed", {"done", "done", "done"});
    documents.cluster = {{"server", "https://api"}, {"node", "gpu01"}, {"state", "connected"}};
    documents.models = {{"0000:01:00.0", "NVIDIA H100"}};
    documents.now_us = 1'072'000'000;
    return documents;
}

/// Returns the sample while operation 12 runs its second step.
inline Documents running_sample() {
    Documents documents = sample();
    documents.last = swap_operation("running", {"done", "running", "pending"});
    documents.last["ended_us"] = 0;
    documents.host["operation"] = 12;
    documents.host["state"] = "busy";
    documents.operations.back().state = "running";
    documents.operations.back().ended_us = 0;
    return documents;
}

inline std::string text_of_lines(const std::vector<Line>& lines) {
    std::string text;
    for (const Line& line : lines)
        text += painted({}, line) + "\n";
    return text;
}

inline std::string text_of_rows(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows)
        text += painted({}, row.line) + "\n";
    return text;
}

} // namespace gpuhost::ctl::dashboard
