// SPDX-License-Identifier: Apache-2.0
// Parses answers of Prometheus and a policy's gates.
#include "daemon/cluster/policy/gate.hpp"

#include "daemon/base/json.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace gpuhost;

namespace {

cluster::Gate gate(const char* kind) {
    base::Json value = {{"name", "g"}, {"url", "http://prometheus"}};
    value[kind] = std::string(kind) == "query" ? base::Json("up == 0") : base::Json::array({".*"});
    return cluster::parse_gate(value).value();
}

/// Returns whether the answer opens a gate.
bool finds_nothing(const base::Json& answer) {
    const base::Json& data = base::member(answer, "data");
    const base::Json& result = base::member(data, "result");
    return base::string_or(answer, "status", "") == "success" && result.is_array() &&
           (result.empty() || base::string_or(data, "resultType", "") == "scalar");
}

void check_answer(const cluster::Gate& gate, std::string_view text) {
    const std::string why = cluster::why_shut(gate, 200, text, "");
    const auto answer = base::parse_json(text, "input");
    fuzz::require(!why.empty() || (answer && finds_nothing(*answer)),
                  "only an answer without results opens the gate");
    fuzz::require(
        why.size() < 600 &&
            std::none_of(why.begin(), why.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
        "a reason is one short line");
    fuzz::require(why.empty() || cluster::why_shut(gate, 200, text, why) == why,
                  "the same answer has the same reason");
    fuzz::require(!cluster::why_shut(gate, 503, text, "").empty(), "an error does not open the gate");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    for (const char* kind : {"query", "alerts"})
        check_answer(gate(kind), text);
    if (const auto value = base::parse_json(text, "input"))
        if (const auto made = cluster::parse_gate(*value)) {
            const std::string target = cluster::gate_target(*made);
            fuzz::require(
                std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 0x7f; }),
                "a request is one line with characters of a URL");
        }
    return 0;
}
