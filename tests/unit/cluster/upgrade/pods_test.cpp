// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/pods.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;

/// Returns a pod of a ReplicaSet with a GPU.
Json pod(const char* name) {
    return {{"metadata",
             {{"name", name},
              {"namespace", "default"},
              {"uid", name},
              {"ownerReferences", {{{"kind", "ReplicaSet"}, {"controller", true}}}}}},
            {"spec",
             {{"containers", {{{"name", "main"}, {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}},
            {"status", {{"phase", "Running"}}}};
}

struct Node {
    std::map<std::string, PodFacts> pods;
    UpgradePolicy policy;

    void add(const Json& one) {
        PodFacts facts = pod_facts(one);
        pods[facts.uid] = facts;
    }
    [[nodiscard]] PodChoice choose(UpgradeAct act) const { return choose_pods(pods, act, policy); }
    [[nodiscard]] std::vector<std::string> leave(UpgradeAct act) const {
        std::vector<std::string> names;
        for (const PodFacts* one : choose(act).leave)
            names.push_back(one->name);
        return names;
    }
};

using Names = std::vector<std::string>;

TEST(Pods, PodsUseGpusByResourceClassOrPath) {
    Node node;
    for (const char* name : {"limit", "mig", "init", "class", "path", "none", "ended"})
        node.add(pod(name));
    const auto change = [&](const char* name, const auto& how) {
        Json one = pod(name);
        how(one);
        node.add(one);
    };
    const auto nothing = [](Json& one) { one["spec"]["containers"][0].erase("resources"); };
    change("mig", [](Json& one) {
        one["spec"]["containers"][0]["resources"] = {{"requests", {{"nvidia.com/mig-1g.10gb", "1"}}}};
    });
    change("init", [&](Json& one) {
        one["spec"]["initContainers"] = one["spec"]["containers"];
        nothing(one);
    });
    change("class", [&](Json& one) {
        nothing(one);
        one["spec"]["runtimeClassName"] = "nvidia";
    });
    change("path", [&](Json& one) {
        nothing(one);
        one["spec"]["volumes"] = {{{"name", "x"}, {"hostPath", {{"path", "/dev/nvidia0"}}}}};
    });
    change("none", nothing);
    change("ended", [](Json& one) { one["status"]["phase"] = "Succeeded"; });
    EXPECT_EQ(node.leave(UpgradeAct::DeletePods), (Names{"class", "init", "limit", "mig", "path"}));
}

TEST(Pods, ClaimsAreNamedInSpecOrStatus) {
    Json one = pod("claims");
    one["spec"]["resourceClaims"] = {{{"name", "a"}, {"resourceClaimName", "named"}},
                                     {{"name", "b"}, {"resourceClaimTemplateName", "template"}}};
    EXPECT_EQ(pod_facts(one).claims, Names{"named"}) << "the other claim is not created yet";
    one["status"]["resourceClaimStatuses"] = {{{"name", "b"}, {"resourceClaimName", "made"}}};
    one["status"]["extendedResourceClaimStatus"] = {{"resourceClaimName", "extended"}};
    EXPECT_EQ(pod_facts(one).claims, (Names{"named", "made", "extended"}));
    one["spec"]["resourceClaims"] = "none";
    one["status"] = Json::array();
    EXPECT_TRUE(pod_facts(one).claims.empty());
}

TEST(Pods, PodsThatWouldLoseDataAreRefused) {
    Node node;
    node.add(pod("good"));
    Json empty = pod("empty");
    empty["spec"]["volumes"] = {{{"name", "x"}, {"emptyDir", Json::object()}}};
    node.add(empty);
    Json alone = pod("alone");
    alone["metadata"].erase("ownerReferences");
    node.add(alone);
    EXPECT_EQ(node.choose(UpgradeAct::DeletePods).refuse,
              (Names{"default/alone has no controller that would recreate it (force is false)",
                     "default/empty has an emptyDir, whose data would be lost (deleteEmptyDir is false)"}));
    node.policy.deletion.force = node.policy.deletion.delete_empty_dir = true;
    EXPECT_EQ(node.leave(UpgradeAct::DeletePods), (Names{"alone", "empty", "good"}));
    EXPECT_EQ(node.choose(UpgradeAct::Drain).refuse.size(), 2U) << "a drain has its own rules";
}

TEST(Pods, StaticAndDaemonSetPodsAreNotEvicted) {
    Node node;
    Json daemon = pod("daemon");
    daemon["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet";
    node.add(daemon);
    Json mirror = pod("mirror");
    mirror["metadata"]["annotations"] = {{"kubernetes.io/config.mirror", "x"}};
    node.add(mirror);
    for (const UpgradeAct act : {UpgradeAct::DeletePods, UpgradeAct::Drain}) {
        const PodChoice choice = node.choose(act);
        EXPECT_TRUE(choice.leave.empty() && choice.refuse.empty());
        EXPECT_EQ(choice.ignored.size(), 2U);
    }
}

TEST(Pods, DrainEvictsAllButSkippedPods) {
    Node node;
    Json plain = pod("plain");
    plain["spec"]["containers"][0].erase("resources");
    node.add(plain);
    Json skipped = pod("skipped");
    skipped["metadata"]["labels"] = {{"nvidia.com/gpu-driver-upgrade-drain.skip", "true"}};
    node.add(skipped);
    Json other = pod("other");
    other["metadata"]["labels"] = {{"tier", "db"}};
    node.add(other);
    EXPECT_EQ(node.leave(UpgradeAct::Drain), (Names{"other", "plain"}));
    node.policy.drain.selector = Selector::parse("tier!=db").value();
    EXPECT_EQ(node.leave(UpgradeAct::Drain), Names{"plain"});
}

TEST(Pods, PendingAndRunningJobsAreAwaited) {
    Node node;
    node.policy.wait_for = Selector::parse("job=yes").value();
    for (const char* phase : {"Pending", "Running", "Succeeded", "Failed", "Unknown"}) {
        Json one = pod(phase);
        one["metadata"]["labels"] = {{"job", "yes"}};
        one["status"]["phase"] = phase;
        node.add(one);
    }
    node.add(pod("another"));
    EXPECT_EQ(node.leave(UpgradeAct::WaitForJobs), (Names{"Pending", "Running"}));
}

TEST(Pods, ValidatorIsReadyWithAllItsContainers) {
    Node node;
    Json validator = pod("validator");
    validator["metadata"]["labels"] = {{"app", "nvidia-operator-validator"}};
    validator["status"]["containerStatuses"] = {{{"ready", true}}, {{"ready", false}}};
    node.add(validator);
    node.add(pod("another"));
    EXPECT_EQ(node.leave(UpgradeAct::Validate), Names{"validator"});
    validator["status"]["containerStatuses"][1]["ready"] = true;
    node.add(validator);
    EXPECT_TRUE(node.leave(UpgradeAct::Validate).empty());
}

TEST(Pods, BlockingDisruptionBudgetIsNamed) {
    const Json status = {
        {"code", 429},
        {"details",
         {{"causes",
           {{{"reason", "DisruptionBudget"},
             {"message", "The disruption budget web needs 2 healthy pods and has 2 currently"}}}}}}};
    EXPECT_EQ(budget_in_the_way(status),
              "The disruption budget web needs 2 healthy pods and has 2 currently");
    EXPECT_EQ(budget_in_the_way({{"code", 429}}), "");
    EXPECT_EQ(budget_in_the_way(nullptr), "");
}

} // namespace
} // namespace gpuhost::cluster
