// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/plan.hpp"

namespace gpuhost::core {

using base::Json;
using base::Result;

Json to_json(const DriverChange& change) {
    return {{"kernel", change.kernel}, {"from", change.from}, {"to", change.to}};
}

Json to_json(const Plan& plan) {
    Json steps = Json::array();
    for (const Step& step : plan.steps)
        steps.push_back(to_json(step));
    Json value{{"kind", plan.kind},
               {"title", plan.title},
               {"steps", std::move(steps)},
               {"reasons", plan.reasons},
               {"problems", to_json(plan.problems)},
               {"changes_host", plan.changes_host}};
    if (plan.undecided)
        value["undecided"] = to_json(*plan.undecided);
    if (plan.driver)
        value["driver"] = to_json(*plan.driver);
    return value;
}

Result<Plan> plan_from_json(const Json& value) {
    Plan plan;
    GPUHOST_TRY(kind, base::get_string(value, "kind"));
    GPUHOST_TRY(title, base::get_string(value, "title"));
    const Json& steps = base::member(value, "steps");
    if (!steps.is_array())
        return base::fail(base::Errc::BadContent, "key 'steps': missing or not a list");
    plan.kind = std::move(kind);
    plan.title = std::move(title);
    for (const Json& item : steps) {
        GPUHOST_TRY(step, step_from_json(item));
        plan.steps.push_back(std::move(step));
    }
    plan.reasons = base::strings_or_empty(value, "reasons");
    plan.problems = problems_from_json(base::member(value, "problems"));
    if (const Json& undecided = base::member(value, "undecided"); undecided.is_object())
        plan.undecided = problem_from_json(undecided);
    if (const Json& driver = base::member(value, "driver"); driver.is_object())
        plan.driver = DriverChange{base::string_or(driver, "kernel", ""), base::string_or(driver, "from", ""),
                                   base::string_or(driver, "to", "")};
    plan.changes_host = base::bool_or(value, "changes_host", true);
    return plan;
}

} // namespace gpuhost::core
