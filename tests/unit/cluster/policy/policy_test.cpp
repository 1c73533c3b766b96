// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/source.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;

Json cluster_policy(const Json& spec) {
    return {{"metadata", {{"name", "cluster-policy"}}}, {"spec", spec}};
}

Json config_map(const char* text) {
    return {{"metadata", {{"name", "gpuhost-policy"}}}, {"data", {{"policy.yaml", text}}}};
}

Policy read(const PolicyTexts& texts) {
    return read_policy(merge_texts(texts));
}

const UpgradePolicy& last(const Policy& policy) {
    return policy.pools.back().policy;
}

TEST(Policy, WithoutSourcesTheOperatorsDefaultsApply) {
    const Policy policy = read({});
    ASSERT_EQ(policy.pools.size(), 1U);
    EXPECT_TRUE(policy.problems.empty());
    EXPECT_EQ(last(policy).version, "");
    EXPECT_EQ(last(policy).mode, UpgradeMode::OnRequest);
    EXPECT_EQ(last(policy).max_parallel, 1U);
    EXPECT_EQ(last(policy).max_unavailable.of(10), 3U) << "25 % of 10, rounded up";
    EXPECT_EQ(last(policy).deletion.timeout, Seconds(0)) << "the default of the driver manager";
    EXPECT_FALSE(last(policy).drain.enabled);
    PolicyTexts texts;
    texts.config_map = config_map("driver: {upgradePolicy: {autoUpgrade: true}}\n");
    EXPECT_EQ(last(read(texts)).deletion.timeout, Seconds(300));
}

TEST(Policy, ConfigMapOverridesEachField) {
    PolicyTexts texts;
    texts.file =
        "driver: {version: 535.216.01, upgradePolicy: {maxParallelUpgrades: 7}}\nrollout: {retries: 5}\n";
    texts.cluster_policy =
        cluster_policy({{"driver", {{"version", "550.54.14"}, {"upgradePolicy", {{"autoUpgrade", true}}}}}});
    texts.config_map = config_map("driver: {version: \"550.163.01\"}\n");
    const MergedPolicy merged = merge_texts(texts);
    EXPECT_EQ(merged.values.at("driver.version").source, "ConfigMap gpuhost/gpuhost-policy");
    EXPECT_EQ(merged.values.at("driver.upgradePolicy.autoUpgrade").source, "ClusterPolicy cluster-policy");
    EXPECT_EQ(merged.values.at("rollout.retries").source, policy_file);
    EXPECT_EQ(merged.values.at("rollout.rollback").source, "default");
    const Policy policy = read_policy(merged);
    EXPECT_EQ(last(policy).version, "550.163.01");
    EXPECT_EQ(last(policy).mode, UpgradeMode::Controlled);
    EXPECT_EQ(last(policy).max_parallel, 7U);
    EXPECT_EQ(last(policy).retries, 5U);
}

TEST(Policy, InvalidValueIsAProblemAndIsIgnored) {
    PolicyTexts texts;
    texts.config_map = config_map(
        "driver: {version: latest, upgradePolicy: {maxParallelUpgrades: -1, maxUnavailable: 120%}}\n");
    const MergedPolicy merged = merge_texts(texts);
    ASSERT_EQ(merged.problems.size(), 3U);
    EXPECT_NE(merged.problems[0].text.find("ConfigMap gpuhost/gpuhost-policy"), std::string::npos);
    EXPECT_EQ(last(read_policy(merged)).max_parallel, 1U);

    texts.config_map = config_map("driver: [");
    EXPECT_EQ(merge_texts(texts).problems.size(), 1U);
    texts.config_map = {{"metadata", {{"name", "gpuhost-policy"}}}, {"data", {{"policy", "x"}}}};
    EXPECT_EQ(merge_texts(texts).problems.size(), 1U);
    texts.config_map = config_map("driver: 550.163.01\n");
    EXPECT_EQ(merge_texts(texts).problems.size(), 1U);
    texts.config_map = config_map("[]");
    EXPECT_EQ(merge_texts(texts).problems.size(), 1U);
}

TEST(Policy, OverriddenInvalidValueIsReportedButHarmless) {
    PolicyTexts texts;
    texts.cluster_policy =
        cluster_policy({{"driver", {{"version", "580"}}}, {"toolkit", {{"version", "sha256:0123"}}}});
    texts.config_map =
        config_map("driver: {version: \"580.65.06\"}\ntoolkit: {version: v1.17.8}\nrollout: {retries: 1}\n");
    MergedPolicy merged = merge_texts(texts);
    EXPECT_TRUE(merged.problems.empty()) << merged.problems.front().text;
    EXPECT_EQ(last(read_policy(merged)).version, "580.65.06");
    ASSERT_EQ(merged.ignored.size(), 2U);
    EXPECT_EQ(merged.ignored[0].path, "driver.version");
    EXPECT_EQ(merged.ignored[0].source, "ClusterPolicy cluster-policy");
    EXPECT_NE(merged.ignored[0].reason.find("ConfigMap gpuhost/gpuhost-policy overrides it"),
              std::string::npos)
        << merged.ignored[0].reason;

    texts.config_map = config_map("driver: {version: \"580.65.06\"}\ntoolkit: {enabled: false}\n");
    EXPECT_TRUE(merge_texts(texts).problems.empty()) << "no toolkit is requested";
    texts.config_map = config_map("driver: {version: latest}\ntoolkit: {enabled: false}\n");
    texts.cluster_policy["spec"]["driver"]["version"] = "580.65.06";
    EXPECT_EQ(merge_texts(texts).problems.size(), 1U) << "the value that applies is invalid";
}

TEST(Policy, ToolkitVersionComesFromTheImageTag) {
    const auto toolkit = [](const std::string& text) {
        PolicyTexts texts;
        texts.config_map = config_map(("toolkit: {" + text + "}\n").c_str());
        const Policy policy = read_policy(merge_texts(texts));
        return policy.problems.empty() ? policy.toolkit : "problem";
    };
    EXPECT_EQ(read_policy(merge_texts({})).toolkit, "");
    for (const auto& [tag, version] : {std::pair{"v1.17.8-ubuntu20.04", "1.17.8"},
                                       {"v1.18.1", "1.18.1"},
                                       {"1.16.2", "1.16.2"},
                                       {"v1.14.3-ubi8", "1.14.3"},
                                       {"v1.19.0-rc.1", "1.19.0~rc.1"},
                                       {"v1.19.0-rc.12-ubi9", "1.19.0~rc.12"},
                                       {"", ""},
                                       {"latest", "problem"},
                                       {"v", "problem"},
                                       {"sha256:0123", "problem"},
                                       {"v1.17.8-", "problem"},
                                       {"v1.17.8-ubuntu20.04-x", "problem"},
                                       {"v1.17.8-UBI8", "problem"},
                                       {"v1.17.8-rc.1234", "problem"},
                                       {"vv1.17.8", "problem"}})
        EXPECT_EQ(toolkit("version: \"" + std::string(tag) + "\""), version) << tag;
    EXPECT_EQ(toolkit("version: 1.17"), "1.17") << "a fraction is the text as written";
    EXPECT_EQ(toolkit("version: 1"), "problem");
    EXPECT_EQ(toolkit("enabled: false, version: v1.17.8"), "") << "the toolkit is installed on the hosts";
}

TEST(Policy, UnsupportedFieldsAreListedWithAReason) {
    PolicyTexts texts;
    texts.cluster_policy = cluster_policy(
        {{"driver", {{"repository", "nvcr.io/nvidia"}, {"startupProbe", {{"periodSeconds", 10}}}}},
         {"dcgmExporter", {{"enabled", true}}}});
    const MergedPolicy merged = merge_texts(texts);
    EXPECT_TRUE(merged.problems.empty());
    ASSERT_EQ(merged.ignored.size(), 3U);
    for (const IgnoredField& field : merged.ignored)
        EXPECT_FALSE(field.reason.empty()) << field.path;
}

/// The value that the GPU Operator's chart writes.
const Json rolling = {{"updateStrategy", "RollingUpdate"}, {"rollingUpdate", {{"maxUnavailable", "1"}}}};

TEST(Policy, RollingUpdateWithoutAutoUpgradeIsOnRequest) {
    PolicyTexts texts;
    texts.cluster_policy =
        cluster_policy({{"daemonsets", rolling},
                        {"driver", {{"version", "550.163.01"}, {"upgradePolicy", {{"autoUpgrade", true}}}}}});
    EXPECT_EQ(last(read(texts)).mode, UpgradeMode::Controlled);
    texts.config_map = config_map("driver: {upgradePolicy: {autoUpgrade: false}}\n");
    EXPECT_EQ(last(read(texts)).mode, UpgradeMode::OnRequest) << "the ConfigMap overrides it";
    texts.config_map = nullptr;
    texts.cluster_policy["spec"]["driver"]["upgradePolicy"]["autoUpgrade"] = false;
    const Policy paused = read(texts);
    EXPECT_EQ(last(paused).mode, UpgradeMode::OnRequest);
    EXPECT_EQ(last(paused).max_parallel, 1U);
    EXPECT_TRUE(paused.problems.empty()) << "the chart's fields are unsupported, not invalid";
}

TEST(Policy, WithoutAutoUpgradeTheDriverManagersEnvironmentApplies) {
    PolicyTexts texts;
    texts.cluster_policy =
        cluster_policy({{"driver",
                         {{"version", "550.163.01"},
                          {"manager",
                           {{"env",
                             {{{"name", "ENABLE_GPU_POD_EVICTION"}, {"value", "false"}},
                              {{"name", "ENABLE_AUTO_DRAIN"}, {"value", "true"}},
                              {{"name", "DRAIN_TIMEOUT_SECONDS"}, {"value", "90s"}},
                              {{"name", "DRAIN_POD_SELECTOR_LABEL"}, {"value", "tier!=db"}},
                              {{"name", "DRAIN_DELETE_EMPTYDIR_DATA"}, {"value", "yes"}}}}}}}}});
    const Policy policy = read(texts);
    const UpgradePolicy& upgrade = last(policy);
    EXPECT_EQ(upgrade.mode, UpgradeMode::OnRequest);
    EXPECT_FALSE(upgrade.deletion.enabled);
    EXPECT_TRUE(upgrade.drain.enabled);
    EXPECT_EQ(upgrade.drain.timeout, Seconds(90));
    EXPECT_FALSE(upgrade.drain.selector.matches({{"tier", "db"}}));
    ASSERT_EQ(policy.problems.size(), 1U) << "\"yes\" is neither true nor false";
    texts.cluster_policy["spec"]["driver"]["upgradePolicy"] = {{"autoUpgrade", true}};
    EXPECT_TRUE(last(read(texts)).deletion.enabled) << "with autoUpgrade the controller's rules apply";
}

TEST(Policy, AcceptsHelmsNameForPodDeletion) {
    PolicyTexts texts;
    texts.config_map =
        config_map("driver: {upgradePolicy: {autoUpgrade: true, gpuPodDeletion: {force: true}}}\n");
    EXPECT_TRUE(last(read(texts)).deletion.force);
}

TEST(Policy, PoolOverridesTheRolloutsFields) {
    PolicyTexts texts;
    texts.config_map = config_map("driver: {version: \"550.163.01\", upgradePolicy: {autoUpgrade: true}}\n"
                                  "rollout:\n"
                                  "  maxParallelUpgrades: 4\n"
                                  "  pools:\n"
                                  "  - {name: lab, nodeSelector: {tier: lab}, driver: {version: "
                                  "\"570.86.15\"}, rollout: {retries: 0}}\n"
                                  "  - {name: front, nodeSelector: \"tier in (a,b)\", driver: "
                                  "{upgradePolicy: {maxParallelUpgrades: 3}}}\n");
    const Policy policy = read(texts);
    EXPECT_TRUE(policy.problems.empty()) << policy.problems.front().text;
    ASSERT_EQ(policy.pools.size(), 3U);
    EXPECT_EQ(policy.pool_of({{"tier", "lab"}}), 0U);
    EXPECT_EQ(policy.pool_of({{"tier", "b"}}), 1U);
    EXPECT_EQ(policy.pool_of({}), 2U);
    EXPECT_EQ(policy.pools[0].policy.version, "570.86.15");
    EXPECT_EQ(policy.pools[0].policy.retries, 0U);
    EXPECT_EQ(policy.pools[1].policy.version, "550.163.01");
    EXPECT_EQ(policy.pools[1].policy.max_parallel, 3U);
    EXPECT_EQ(policy.max_parallel, 4U);
}

TEST(Policy, PoolOverridesTheRolloutsGates) {
    PolicyTexts texts;
    texts.config_map = config_map(
        "rollout:\n"
        "  gates: [{name: quiet, url: \"http://a:9090\", alerts: [\".*\"], ignoreAlerts: [Watchdog]}]\n"
        "  pools:\n"
        "  - {name: lab, nodeSelector: {tier: lab}, rollout: {gates: []}}\n"
        "  - {name: front, nodeSelector: {tier: front}, rollout: {gates: [{name: own, url: \"http://b\", "
        "query: up}]}}\n");
    const Policy policy = read(texts);
    EXPECT_TRUE(policy.problems.empty()) << policy.problems.front().text;
    ASSERT_EQ(policy.pools.size(), 3U);
    EXPECT_TRUE(policy.pools[0].policy.gates.empty());
    ASSERT_EQ(policy.pools[1].policy.gates.size(), 1U);
    EXPECT_EQ(policy.pools[1].policy.gates[0].name, "own");
    ASSERT_EQ(last(policy).gates.size(), 1U);
    EXPECT_EQ(last(policy).gates[0].name, "quiet");
}

TEST(Policy, ProblemsInListsNameTheirIndex) {
    PolicyTexts texts;
    texts.config_map = config_map("rollout:\n"
                                  "  pools: [{nodeSelector: {a: b}}, {name: x, nodeselector: {a: b}}, {name: "
                                  "y, nodeSelector: \"a==\"}, {name: x, nodeSelector: {c: d}}]\n"
                                  "  windows: [{start: 22, end: \"04:00\"}]\n"
                                  "  gates: [{name: a, url: \"http://b\", query: up}, {name: c, url: d, "
                                  "query: up}]\n"
                                  "  waves: [{size: -1}, {size: abc}, {size: 2.5}, {size: 10%, soakSeconds: "
                                  "1h}, {size: 5, soakSeconds: 60}]\n"
                                  "  failureBugdet: 1\n");
    const Policy policy = read(texts);
    const auto names = [&](const char* part) {
        for (const PolicyProblem& problem : policy.problems)
            if (problem.text.find(part) != std::string::npos)
                return true;
        return false;
    };
    EXPECT_TRUE(names("rollout.pools[0]"));
    EXPECT_TRUE(names("rollout.pools[1]: unknown field 'nodeselector'"));
    EXPECT_TRUE(names("rollout.pools: two pools have the name 'x'"));
    EXPECT_TRUE(names("rollout.windows[0]"));
    EXPECT_TRUE(names("rollout.gates[1]: url is not a URL"));
    EXPECT_TRUE(names("rollout.waves[0].size: not a number of hosts nor a percentage: -1"));
    EXPECT_TRUE(names("rollout.waves[1].size"));
    EXPECT_TRUE(names("rollout.waves[2].size"));
    EXPECT_FALSE(names("rollout.waves[3].size"));
    EXPECT_TRUE(names("rollout.waves[3].soakSeconds: not a number of seconds"));
    EXPECT_FALSE(names("rollout.waves[4]"));
    EXPECT_TRUE(names("unknown field rollout.failureBugdet"));
}

TEST(Selector, MatchesLabelsAsKubectl) {
    const auto matches = [](const char* text, const Labels& labels) {
        const auto selector = Selector::parse(text);
        EXPECT_TRUE(selector) << text;
        return selector && selector->matches(labels);
    };
    const Labels labels{{"a", "1"}, {"b.io/c", "x"}};
    for (const char* text :
         {"", "a", "a=1", "a==1", "a!=2", "c!=1", "!c", "a in (0, 1),b.io/c", "a notin (2)", "c notin (1)"})
        EXPECT_TRUE(matches(text, labels)) << text;
    for (const char* text : {"c", "a=2", "a!=1", "!a", "a in (2,3)", "a notin (1)", "a=1,c"})
        EXPECT_FALSE(matches(text, labels)) << text;
    for (const char* text : {"a in 1", "=1", "a=b=c d", "a in (1", ","})
        EXPECT_FALSE(Selector::parse(text)) << text;
}

} // namespace
} // namespace gpuhost::cluster
