// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/doctor/facts.hpp"
#include "daemon/ctl/report/report.hpp"

namespace gpuhost::ctl {

using base::Json;
using base::Result;

namespace {

std::string document(const Result<Json>& answer) {
    return report_document(answer ? *answer : base::to_json(answer.error()));
}

std::string ask(const ReportInput& input, const client::Call& call) {
    return document(input.client != nullptr ? input.client->ask(call)
                                            : base::fail(base::Errc::NotFound, input.silence));
}

Result<Json> all_operations(client::Client& client) {
    GPUHOST_TRY(rows, client.list_operations());
    Json all = Json::array();
    for (const client::OperationRow& row : rows)
        if (auto operation = client.describe_operation(row.id)) // else it was deleted meanwhile
            all.push_back(*std::move(operation));
    return all;
}

} // namespace

std::string report_status(const ReportInput& input) {
    return ask(input, client::manager_call("Describe"));
}

std::string report_plan(const ReportInput& input) {
    return ask(input, client::manager_call("Plan", {client::Options()}));
}

std::string report_drivers(const ReportInput& input) {
    return ask(input, client::driver_call("List"));
}

std::string report_history(const ReportInput& input) {
    return ask(input, client::driver_call("History"));
}

std::string report_operations(const ReportInput& input) {
    return document(input.client != nullptr ? all_operations(*input.client)
                                            : base::fail(base::Errc::NotFound, input.silence));
}

std::string report_doctor(const ReportInput& input) {
    if (auto hanging = hanging_driver(input))
        return document(base::fail(*std::move(hanging)));
    return document(diagnose(gather_doctor_facts(input.root, [&]() -> Result<client::Client*> {
        if (input.client == nullptr)
            return base::fail(base::Errc::NotFound, input.silence);
        return input.client;
    })));
}

} // namespace gpuhost::ctl
