// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/policy/check.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;

constexpr std::int64_t saturday_noon = 1'795'867'200; // 2026-11-28 12:00 UTC

Json checked(const std::string& text) {
    const auto document = check_policy(text, "x.yaml", saturday_noon);
    EXPECT_TRUE(document) << document.error().message;
    return document.value_or(Json());
}

std::string refusal(const std::string& text) {
    const auto document = check_policy(text, "x.yaml", saturday_noon);
    return document ? "accepted" : document.error().message;
}

/// Returns "LINE TEXT" of each problem.
std::vector<std::string> problems(const std::string& text) {
    const Json document = checked(text);
    std::vector<std::string> texts;
    for (const Json& problem : document["problems"])
        texts.push_back(std::to_string(problem["line"].get<int>()) + " " +
                        problem["text"].get<std::string>());
    return texts;
}

Json value(const Json& fields, const std::string& path) {
    for (const Json& field : fields)
        if (field["path"] == path)
            return field["value"];
    return "no such field";
}

const std::string config_map_text = "# of the site\n"
                                    "apiVersion: v1\n"
                                    "kind: ConfigMap\n"
                                    "metadata: {name: gpuhost-policy, namespace: gpuhost}\n"
                                    "data:\n"
                                    "  policy.yaml: |-  # text\n";

TEST(PolicyCheck, AllMistakesOfConfigMapHaveLines) {
    EXPECT_EQ(problems(config_map_text + "    driver:\n"
                                         "      version: latest\n"
                                         "    rollout:\n"
                                         "      failureBugdet: 1\n"
                                         "      waves:\n"
                                         "      - {name: a}\n"
                                         "      - name: b\n"
                                         "        size: few\n"
                                         "      windows: [{strat: \"22:00\", end: \"23:00\"}]\n"
                                         "      pools:\n"
                                         "      - name: c\n"
                                         "        driver: {upgradePolicy: {autoUpgrade: 1}}\n"),
              (std::vector<std::string>{
                  "8 ConfigMap gpuhost/gpuhost-policy: driver.version must be a driver version such as "
                  "\"550.163.01\", as a string, not \"latest\"",
                  "10 ConfigMap gpuhost/gpuhost-policy: unknown field rollout.failureBugdet (did you mean "
                  "'rollout.failureBudget'?)",
                  "14 rollout.waves[1].size: not a number of hosts nor a percentage: \"few\"",
                  "15 rollout.windows[0]: unknown field 'strat' (did you mean 'start'?)",
                  "18 pool 'c': driver.upgradePolicy.autoUpgrade must be true or false, not 1"}));
}

TEST(PolicyCheck, MistakesOfClusterPolicyAndJsonHaveLines) {
    EXPECT_EQ(
        problems("apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cp}\nspec:\n  driver:\n"
                 "    upgradePolicy:\n      maxUnavailable: most\n"),
        std::vector<std::string>{"7 ClusterPolicy cp: driver.upgradePolicy.maxUnavailable must be a whole "
                                 "number from 0, or a percentage such as \"25%\", not \"most\""});
    EXPECT_EQ(
        problems("{\"kind\": \"List\", \"items\": [\n{\"kind\": \"ConfigMap\",\n\"metadata\": {\"name\": "
                 "\"gpuhost-policy\", \"namespace\": \"gpuhost\"},\n\"data\": {\n\"policy.yaml\": "
                 "\"rollout:\\n  retries: x\\n\"}}]}\n"),
        std::vector<std::string>{"5 ConfigMap gpuhost/gpuhost-policy: rollout.retries must be a whole number "
                                 "from 0, not \"x\""});
}

TEST(PolicyCheck, SourcesOfAllDocumentsAreMerged) {
    const Json document = checked(
        "kind: Namespace\napiVersion: v1\n---\n"
        "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cp}\n"
        "spec: {driver: {version: 535.261.03, image: d, upgradePolicy: {autoUpgrade: true, drian: {}}}}\n"
        "---\n" +
        config_map_text + "    driver: {version: 550.163.01}\n");
    EXPECT_EQ(document["problems"], Json::array());
    EXPECT_EQ(value(document["policy"]["fields"], "driver.version"), "550.163.01");
    EXPECT_EQ(value(document["policy"]["fields"], "driver.upgradePolicy.autoUpgrade"), true);
    EXPECT_EQ(document["documents"].size(), 2U) << "a Namespace is skipped";
    ASSERT_EQ(document["policy"]["ignored"].size(), 2U);
    EXPECT_EQ(document["policy"]["ignored"][0]["reason"], "drivers come from bundles, not from a registry");
    EXPECT_EQ(
        document["policy"]["ignored"][1]["reason"],
        "the GPU Operator's upgrade policy has no such field (did you mean 'driver.upgradePolicy.drain'?)");
}

TEST(PolicyCheck, PoolsHaveTheirValuesWindowsAndGates) {
    const Json document = checked(
        "driver: {version: 535.261.03}\n"
        "rollout:\n"
        "  windows: [{days: [Sat], start: \"10:00\", end: \"14:00\"}]\n"
        "  pools:\n"
        "  - {name: a, nodeSelector: {tier: canary}, driver: {version: 550.163.01}, rollout: {windows: [],"
        " gates: [{name: g, url: \"http://p:9090\", query: up == 0}]}}\n");
    ASSERT_EQ(document["pools"].size(), 2U) << document;
    const Json& own = document["pools"][0];
    EXPECT_EQ(own["node_selector"], Json({{"tier", "canary"}}));
    EXPECT_EQ(value(own["fields"], "driver.version"), "550.163.01");
    EXPECT_EQ(own["window"], nullptr);
    EXPECT_EQ(own["gates"], Json({{{"name", "g"}, {"url", "http://p:9090"}, {"query", "up == 0"}}}));
    const Json& others = document["pools"][1];
    EXPECT_EQ(value(others["fields"], "driver.version"), "535.261.03");
    EXPECT_EQ(
        others["window"],
        Json({{"open", true}, {"text", "the maintenance window is open until Sat 2026-11-28 14:00 UTC"}}));
}

TEST(PolicyCheck, MistakeOfCommonValueIsReportedOnce) {
    EXPECT_EQ(
        problems("rollout:\n  windows: [{start: 1}]\n  pools: [{name: a}, {name: b}]\n"),
        std::vector<std::string>{"2 rollout.windows[0]: start must be a time of day such as \"22:00\""});
}

TEST(PolicyCheck, ObjectsThatHostsDoNotReadAreNamed) {
    EXPECT_EQ(refusal("apiVersion: nvidia.com/v1alpha1\nkind: NVIDIADriver\nmetadata: {name: a100}\n"),
              "x.yaml: has no policy that gpuhost-cluster reads: NVIDIADriver a100: rollout.pools "
              "replaces it");
    EXPECT_EQ(refusal("apiVersion: nvidia.com/v2\nkind: ClusterPolicy\nmetadata: {name: cp}\n"),
              "x.yaml: has no policy that gpuhost-cluster reads: ClusterPolicy cp: its apiVersion is not "
              "nvidia.com/v1");
    EXPECT_EQ(problems("kind: ConfigMap\nmetadata: {name: gpuhost-policy, namespace: default}\n"),
              std::vector<std::string>{
                  "1 ConfigMap default/gpuhost-policy: gpuhost-cluster reads only namespace gpuhost"});
    EXPECT_EQ(
        problems("kind: ConfigMap\nmetadata: {name: gpuhost-policy}\ndata: {policy.yaml: '{}'}\n"),
        std::vector<std::string>{
            "2 ConfigMap gpuhost-policy: has no namespace: kubectl would create it in the current one, "
            "and gpuhost-cluster reads only namespace gpuhost; add it, or name it with kubectl --namespace"});
    EXPECT_EQ(problems(config_map_text + "    {}\n---\n" + config_map_text + "    {}\n"),
              std::vector<std::string>{"10 ConfigMap gpuhost/gpuhost-policy: is in the file twice"});
}

TEST(PolicyCheck, FilesWithoutPolicyAreRefused) {
    for (const char* text :
         {"", "[]", "text", "kind: Namespace\n", "kind: ConfigMap\nmetadata: {name: other}\n"})
        EXPECT_EQ(refusal(text), "x.yaml: has no policy that gpuhost-cluster reads") << text;
    EXPECT_EQ(refusal("a: b\n---\na: [\n").substr(0, 15), "x.yaml: line 4:") << "all documents are parsed";
    EXPECT_EQ(problems("kind: ConfigMap\nmetadata: {name: gpuhost-policy, namespace: gpuhost}\ndata: {}\n"),
              std::vector<std::string>{"3 ConfigMap gpuhost/gpuhost-policy: has no 'policy.yaml'"});
}

TEST(PolicyCheck, SyntaxErrorOfConfigMapHasItsLine) {
    const auto literal = problems(config_map_text + "    driver: {version: 550.163.01}\n    rollout: {{\n\n");
    ASSERT_EQ(literal.size(), 1U);
    EXPECT_EQ(literal[0].substr(0, 36), "8 ConfigMap gpuhost/gpuhost-policy: ");
    EXPECT_EQ(literal[0].find("line"), std::string::npos) << literal[0];
    const auto quoted = problems("kind: ConfigMap\nmetadata: {name: gpuhost-policy, namespace: gpuhost}\n"
                                 "data: {policy.yaml: \"a: 1\\na: 1\"}\n");
    EXPECT_EQ(quoted,
              std::vector<std::string>{"3 ConfigMap gpuhost/gpuhost-policy: line 2: has the key 'a' twice "
                                       "in one map"});
}

TEST(PolicyCheck, SecondDocumentOfPolicyIsReported) {
    EXPECT_EQ(problems(config_map_text + "    driver: {version: 550.163.01}\n    ---\n    rollout: {}\n"),
              std::vector<std::string>{
                  "7 ConfigMap gpuhost/gpuhost-policy: has more than one YAML document: only the "
                  "first is read"});
}

TEST(PolicyCheck, ItemWithoutKindIsNoPolicy) {
    EXPECT_EQ(refusal("kind: List\nitems:\n- {driver: {version: 550.163.01}}\n"),
              "x.yaml: has no policy that gpuhost-cluster reads");
}

TEST(PolicyCheck, LongListIsReadInLinearTime) {
    std::string list =
        "kind: List\nitems:\n- {kind: ConfigMap, metadata: {name: gpuhost-policy, namespace: gpuhost}, data: "
        "{policy.yaml: '{}'}}\n";
    for (int i = 0; i < 15'000; ++i)
        list += "- {kind: ConfigMap, a: b}\n";
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(checked(list)["documents"].size(), 1U);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20))
        << "a copy for each item takes minutes";
}

} // namespace
} // namespace gpuhost::cluster
