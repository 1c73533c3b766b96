// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/transaction/operation.hpp"

#include <algorithm>

namespace gpuhost::host {

using base::Json;

std::string_view state(const Operation& operation) {
    const core::Transaction& transaction = operation.transaction;
    if (transaction.outcome())
        return core::name(*transaction.outcome());
    return transaction.undoing() ? "undoing" : "running";
}

std::string title(const Operation& operation) {
    constexpr std::size_t longest = 200;
    const core::Transaction& transaction = operation.transaction;
    std::string title = transaction.plan().title;
    const std::string before = transaction.check_only() ? "check: " : "";
    for (const Json& output : transaction.outputs())
        if (const std::string found = base::string_or(output, "title", "");
            !found.empty() && found.size() <= longest &&
            std::none_of(found.begin(), found.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }))
            title = before + found;
    return title;
}

Json to_json(const Operation& operation) {
    const core::Transaction& transaction = operation.transaction;
    const core::Plan& plan = transaction.plan();
    Json steps = Json::array();
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        steps.push_back({{"kind", plan.steps[i].kind},
                         {"summary", plan.steps[i].summary},
                         {"state", core::name(transaction.states()[i])}});
        if (plan.steps[i].undo_only)
            steps.back()["undo_only"] = true;
    }
    Json value{{"id", operation.id},
               {"kind", plan.kind},
               {"title", title(operation)},
               {"changes_host", plan.changes_host},
               {"dry_run", transaction.check_only()},
               {"state", state(operation)},
               {"progress", operation.progress},
               {"text", operation.text},
               {"steps", std::move(steps)},
               {"problems", core::to_json(transaction.problems())},
               {"error", transaction.error() ? base::to_json(*transaction.error()) : Json()},
               {"subject", core::to_json(transaction.subject())},
               {"began_us", transaction.began_us()},
               {"ended_us", transaction.ended_us()},
               {"outputs", transaction.outputs()}};
    if (plan.driver)
        value["driver"] = core::to_json(*plan.driver);
    return value;
}

} // namespace gpuhost::host
