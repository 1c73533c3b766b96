// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/policy/gate.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;

Json with(Json more) {
    Json value = {{"name", "quiet"}, {"url", "http://prometheus:9090"}};
    value.update(more);
    return value;
}

Gate alerts() {
    return parse_gate(with({{"alerts", {".*"}}})).value();
}

Gate query() {
    return parse_gate(with({{"query", "up == 0"}})).value();
}

std::string vector(const std::vector<Json>& samples) {
    return base::dump({{"status", "success"}, {"data", {{"resultType", "vector"}, {"result", samples}}}});
}

Json alert(const char* name, const char* state = "firing") {
    return {{"metric", {{"__name__", "ALERTS"}, {"alertname", name}, {"alertstate", state}}},
            {"value", {1'800'000'000.781, "1"}}};
}

std::string scalar(const Json& value) {
    return base::dump(
        {{"status", "success"}, {"data", {{"resultType", "scalar"}, {"result", {1.5, value}}}}});
}

TEST(Gate, AlertNamesBecomeAPrometheusQuery) {
    EXPECT_EQ(alerts().query, R"-(ALERTS{alertstate="firing",alertname=~"(?:.*)"})-");
    const Gate gate = parse_gate(with({{"alerts", {"Node.*", R"(a"\d)"}},
                                       {"ignoreAlerts", {"Watchdog"}},
                                       {"pendingAlerts", true},
                                       {"intervalSeconds", 5}}))
                          .value();
    EXPECT_EQ(gate.query, R"-(ALERTS{alertstate=~"pending|firing",alertname=~"(?:Node.*)|(?:a\"\\d)",)-"
                          R"-(alertname!~"(?:Watchdog)"})-");
    EXPECT_EQ(gate.interval, std::chrono::seconds(5));
    EXPECT_EQ(gate_target(parse_gate(with({{"query", "up\n# a\n\t> 0\n"}})).value()),
              "http://prometheus:9090/api/v1/query?query=up%0A%23%20a%0A%09%3E%200%0A");
    EXPECT_EQ(gate_target(query()), "http://prometheus:9090/api/v1/query?query=up%20%3D%3D%200");
    const Json other = {{"name", "a"}, {"url", "https://[fd00::1]/prom/"}, {"query", "a&b#"}};
    EXPECT_EQ(gate_target(parse_gate(other).value()), "https://[fd00::1]/prom/api/v1/query?query=a%26b%23");
}

TEST(Gate, InvalidGatesAreRefused) {
    const Json good = {{"alerts", {".*"}}};
    ASSERT_TRUE(parse_gate(with(good)));
    for (const Json& wrong : {Json("x"),
                              Json::object(),
                              with(Json::object()),
                              with({{"alerts", "x"}}),
                              with({{"alerts", Json::array()}}),
                              with({{"alerts", {""}}}),
                              with({{"alerts", {nullptr}}}),
                              with({{"alerts", {7}}}),
                              with({{"alerts", {"a"}}, {"query", "up"}}),
                              with({{"ignoreAlerts", {"a"}}}),
                              with({{"query", "up"}, {"ignoreAlerts", {"a"}}}),
                              with({{"query", "up"}, {"pendingAlerts", true}}),
                              with({{"alerts", {"a"}}, {"pendingAlerts", "yes"}}),
                              with({{"query", "a\x01"}}),
                              with({{"query", std::string(5000, 'a')}}),
                              with({{"query", 7}}),
                              with({{"query", ""}}),
                              with({{"alerts", {std::string(4090, 'a')}}}),
                              with({{"query", "up"}, {"interval", 5}}),
                              with({{"query", "up"}, {"intervalSeconds", 0}}),
                              with({{"query", "up"}, {"intervalSeconds", "5"}}),
                              with({{"query", "up"}, {"intervalSeconds", 90'000}}),
                              with({{"query", "up"}, {"name", ""}}),
                              with({{"query", "up"}, {"name", std::string(65, 'a')}}),
                              with({{"query", "up"}, {"url", nullptr}}),
                              with({{"query", "up"}, {"url", "prometheus:9090"}}),
                              with({{"query", "up"}, {"url", "ftp://a"}}),
                              with({{"query", "up"}, {"url", "http://user:password@a"}}),
                              with({{"query", "up"}, {"url", "http://a/?x=y"}}),
                              with({{"query", "up"}, {"caFile", "ca.pem"}}),
                              with({{"query", "up"}, {"tokenFile", "token"}})})
        EXPECT_FALSE(parse_gate(wrong)) << wrong;
}

TEST(Gate, TokenFileOutsideTheDirectoryIsRefused) {
    const auto parse = [](const char* name) {
        return parse_gate(with({{"query", "up"}, {"url", "https://a"}, {"tokenFile", name}}));
    };
    ASSERT_TRUE(parse("token"));
    EXPECT_EQ(parse("token")->token, "token");
    for (const char* wrong : {"/var/lib/gpuhost/cluster/client.pem", "../kubeconfig", "..", ".", ""})
        EXPECT_FALSE(parse(wrong)) << wrong;
}

TEST(Gate, FiringAlertClosesTheGateAndIsNamed) {
    EXPECT_EQ(why_shut(alerts(), 200, vector({}), ""), "");
    EXPECT_EQ(why_shut(alerts(), 200, vector({alert("B"), alert("A"), alert("A")}), ""),
              "gate 'quiet': alert 'A' is firing");
    EXPECT_EQ(why_shut(alerts(), 200, vector({alert("A", "pending")}), ""),
              "gate 'quiet': alert 'A' is pending");
}

TEST(Gate, ReasonStaysWhileItsAlertFires) {
    const std::string before = "gate 'quiet': alert 'B' is firing";
    EXPECT_EQ(why_shut(alerts(), 200, vector({alert("A"), alert("B"), alert("C")}), before), before);
    EXPECT_EQ(why_shut(alerts(), 200, vector({alert("C"), alert("A")}), before),
              "gate 'quiet': alert 'A' is firing");
    EXPECT_EQ(why_shut(alerts(), 200, vector({}), before), "");
}

TEST(Gate, AnyQueryResultClosesTheGate) {
    const Json sample = {{"metric", {{"__name__", "up"}, {"job", "node"}, {"instance", "gpu01:9100"}}},
                         {"value", {1.5, "0"}}};
    EXPECT_EQ(why_shut(query(), 200, vector({sample}), ""),
              R"(gate 'quiet': its query finds up{instance="gpu01:9100",job="node"})");
    EXPECT_EQ(why_shut(query(), 200, vector({Json{{"metric", Json::object()}, {"value", {1.5, "7"}}}}), ""),
              "gate 'quiet': its query finds {}");
    for (const char* zero : {"0", "-0", "0.0", "0e5"})
        EXPECT_EQ(why_shut(query(), 200, scalar(zero), ""), "") << zero;
    for (const char* other : {"1", "NaN", "+Inf", "-0.5"})
        EXPECT_EQ(why_shut(query(), 200, scalar(other), ""), "gate 'quiet': its query's result is not 0");
}

TEST(Gate, InvalidAnswerClosesTheGate) {
    const auto why = [](unsigned status, const std::string& body) {
        return why_shut(query(), status, body, "gate 'quiet': its query finds {}");
    };
    const std::string can_not = "gate 'quiet': can't query http://prometheus:9090: ";
    EXPECT_EQ(why(200, ""), can_not + "the answer is not valid JSON");
    EXPECT_EQ(why(200, "<html>Sign in</html>"), can_not + "the answer is not valid JSON");
    EXPECT_EQ(why(302, "<html>"), can_not + "answered 302");
    EXPECT_EQ(why(401, "Unauthorized"), can_not + "answered 401");
    EXPECT_EQ(why(503, R"({"status":"error","errorType":"timeout","error":"query timed out after 2.013s"})"),
              can_not + "answered 503, timeout");
    EXPECT_EQ(why(400, R"({"status":"error","errorType":"bad_data","error":"1:3: parse error"})"),
              can_not + "answered 400, bad_data: 1:3: parse error");
    EXPECT_EQ(why(200, R"({"status":"error","errorType":"execution","error":"x"})"),
              can_not + "answered 200, execution");
    for (const char* neither : {"[]", "null", "7"})
        EXPECT_EQ(why(200, neither), can_not + "answered 200") << neither;
    for (const char* neither : {R"({"status":"success"})", R"({"status":"success","data":[]})",
                                R"({"status":"success","data":{"resultType":"matrix","result":[]}})",
                                R"({"status":"success","data":{"resultType":"string","result":[1,"0"]}})",
                                R"({"status":"success","data":{"resultType":"vector","result":null}})",
                                R"({"status":"success","data":{"resultType":"vector"}})",
                                R"({"status":"success","data":{"result":[]}})"})
        EXPECT_EQ(why(200, neither), can_not + "the answer is neither an instant vector nor a scalar")
            << neither;
    for (const char* none : {R"([1])", R"([1,0])", R"([1,""])", R"([1,"0x"])", R"([1,"0","0"])", "[]"})
        EXPECT_EQ(why(200, R"({"status":"success","data":{"resultType":"scalar","result":)" +
                               std::string(none) + "}}"),
                  can_not + "the answer is not a scalar")
            << none;
}

TEST(Gate, IncompleteAnswerClosesTheGate) {
    Json answer = base::parse_json(vector({}), "x").value();
    answer["warnings"] = Json::array();
    answer["infos"] = {"PromQL info: metric might not be a counter"};
    EXPECT_EQ(why_shut(query(), 200, base::dump(answer), ""), "");
    answer["warnings"] = {"store prometheus-1 is away"};
    EXPECT_NE(why_shut(query(), 200, base::dump(answer), "").find("incomplete"), std::string::npos);
    answer.erase("warnings");
    answer["isPartial"] = true;
    EXPECT_NE(why_shut(query(), 200, base::dump(answer), "").find("incomplete"), std::string::npos);
}

TEST(Gate, ReasonIsOneShortLine) {
    const std::string why = why_shut(
        alerts(), 200, vector({alert((std::string("a\nb") + std::string(198, 'x') + "äöü").c_str())}), "");
    EXPECT_EQ(why.find('\n'), std::string::npos);
    EXPECT_LT(why.size(), 300U);
    EXPECT_EQ(Json::parse(base::dump(why)), why) << "no character is cut";
    EXPECT_EQ(why_shut(query(), "no\nanswer"), "gate 'quiet': can't query http://prometheus:9090: no answer");
}

} // namespace
} // namespace gpuhost::cluster
