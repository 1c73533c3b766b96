// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cluster/view.hpp"
#include "daemon/ctl/fleet/view.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

constexpr std::int64_t now = 1'800'000'000;
constexpr const char* wanted = "550.163.01";

Json node(const std::string& name, const std::string& phase, const std::string& state,
          const std::string& reason, std::int64_t age = 60) {
    return {{"name", name},      {"pool", "default"},  {"phase", phase},   {"state", state},
            {"version", wanted}, {"since", now - age}, {"reason", reason}, {"ready", true},
            {"skipped", false},  {"cordoned", false}};
}

Json pool(const std::string& name, unsigned hosts, unsigned done, unsigned running, unsigned waiting,
          unsigned failed, const std::string& waits = "") {
    return {{"name", name},       {"version", wanted}, {"mode", "controlled"},
            {"hosts", hosts},     {"done", done},      {"in_progress", running},
            {"pending", waiting}, {"failed", failed},  {"wait_reason", waits}};
}

Json fleet(Json pools, Json nodes) {
    return {{"server", "https://api:6443"},
            {"leader", {{"name", "gpu01"}, {"renewed", now - 3}, {"silent", false}}},
            {"policy_problems", Json::array()},
            {"pools", std::move(pools)},
            {"nodes", std::move(nodes)}};
}

FleetView view(bool all = false, std::size_t rows = 0) {
    FleetView made;
    made.all = all;
    made.rows = rows;
    made.now = now;
    return made;
}

Screen terminal(std::size_t columns = 80) {
    return {true, false, columns};
}

/// Returns 1,000 hosts in the middle of a rollout.
Json thousand() {
    constexpr const char* waits = "all places are taken: maxParallelUpgrades is 4";
    Json nodes = Json::array();
    const auto add = [&](unsigned count, const char* phase, const char* state, const std::string& reason) {
        for (unsigned i = 0; i < count; ++i)
            nodes.push_back(node("sim" + std::to_string(1000 + nodes.size()), phase, state, reason, i));
    };
    add(650, "done", "upgrade-done", "");
    add(340, "waiting", "upgrade-required", waits);
    add(2, "failed", "upgrade-failed", "swap: the kernel refused the module");
    add(4, "upgrading", "drain-required", "1 pod is left");
    add(4, "other", "", "the node is not ready");
    return fleet({pool("default", 1000, 650, 4, 340, 2, waits)}, std::move(nodes));
}

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(FleetView, ThousandHostsFitOneScreen) {
    EXPECT_EQ(render_fleet(terminal(), thousand(), view(false, 23)),
              "Server: https://api:6443\n"
              "Leader: gpu01\n"
              "  Pool: default, driver 550.163.01\n"
              "        [===============>        ] 650 of 1000 done\n"
              "        2 failed, 4 under way, 340 waiting, 4 others\n"
              "        all places are taken: maxParallelUpgrades is 4\n"
              "\n"
              "NODE       STATE             AGE  REASON\n"
              "sim1990    upgrade-failed     0s  swap: the kernel refused the module\n"
              "sim1991    upgrade-failed     1s  swap: the kernel refused the module\n"
              "4 nodes    drain-required     3s  1 pod is left\n"
              "340 nodes  upgrade-required   5m  all places are taken: maxParallelUpgrades is 4\n"
              "4 nodes    -                  3s  the node is not ready\n");
}

TEST(FleetView, AllListsEachHostOnOneLine) {
    const std::string text = render_fleet({}, thousand(), view(true));
    EXPECT_EQ(lines(text), 8U + 1000U);
    EXPECT_NE(text.find("sim1649  upgrade-done"), std::string::npos) << text.substr(text.size() - 400);
    EXPECT_LT(text.find("sim1991"), text.find("sim1992")) << "failed hosts are first";
    EXPECT_LT(text.find("sim1650"), text.find("sim1000")) << "done hosts are last";
}

TEST(FleetView, OmittedHostsAreCounted) {
    Json nodes = Json::array();
    for (unsigned i = 0; i < 500; ++i)
        nodes.push_back(
            node("n" + std::to_string(100 + i), "failed", "upgrade-failed", "cause " + std::to_string(i)));
    const Json document = fleet({pool("default", 500, 0, 0, 0, 500)}, std::move(nodes));
    for (const std::size_t rows : {10U, 24U, 50U}) {
        const std::string text = render_fleet(terminal(), document, view(false, rows));
        EXPECT_EQ(lines(text), rows) << text;
        EXPECT_NE(text.find("nodes more, which --all shows\n"), std::string::npos) << text;
    }
    EXPECT_EQ(render_fleet(terminal(), document, view(false, 510)).find("more"), std::string::npos);
    EXPECT_EQ(render_fleet({}, document, view()).find("more"), std::string::npos)
        << "everything is shown without a terminal";
}

TEST(FleetView, LimitedRowsAreTruncatedToWidth) {
    Json document = thousand();
    const std::string longest(500, 'x');
    document["nodes"].push_back(
        node("ip-10-0-12-34.eu-central-1.compute.internal", "failed", "wait-for-jobs-required", longest));
    document["server"] = "https://" + longest;
    document["pools"][0]["wait_reason"] = longest;
    document["policy_problems"] = {longest};
    FleetView shown = view(false, 1000);
    shown.problem = longest;
    for (const std::size_t columns : {60U, 80U, 132U})
        for (const std::string& line : base::split(render_fleet(terminal(columns), document, shown), '\n'))
            EXPECT_LE(text_width(line), columns) << line;
    EXPECT_NE(render_fleet({}, document, shown).find(longest + "\n"), std::string::npos)
        << "nothing is truncated without a terminal";
}

TEST(FleetView, WithoutLimitReasonsAreWrapped) {
    Json document = thousand();
    document["nodes"].push_back(
        node("a", "failed", "upgrade-failed", "the driver of this host is held by a process of the user"));
    const std::string text = render_fleet(terminal(60), document, view());
    EXPECT_EQ(text.find("…"), std::string::npos) << text;
    EXPECT_NE(text.find(" of the user\n"), std::string::npos) << text;
}

TEST(FleetView, HostsShowCordonReadinessAndVersion) {
    Json failed = node("a", "failed", "upgrade-failed", "swap: no");
    failed["cordoned"] = true;
    failed["ready"] = false;
    Json other = node("b", "upgrading", "drain-required", "1 pod is left");
    other["cordoned"] = true;
    other["version"] = "570.86.15";
    Json odd = node("c", "waiting", "upgrade-required", "label x.skip is set", -500);
    odd["skipped"] = true;
    const std::string text =
        render_fleet({}, fleet({pool("default", 3, 0, 1, 1, 1)}, {failed, other, odd}), view());
    EXPECT_NE(text.find("NODE  STATE             VERSION    AGE  REASON\n"
                        "a     upgrade-failed               60s  the node is not ready; cordoned; swap: no\n"
                        "b     drain-required    570.86.15  60s  1 pod is left\n"
                        "c     upgrade-required              0s  label x.skip is set\n"),
              std::string::npos)
        << text;
}

TEST(FleetView, PoolsWithHostsAreShown) {
    Json lab = node("a", "waiting", "upgrade-required", "window opens at 22:00");
    lab["pool"] = "lab";
    const std::string text =
        render_fleet({},
                     fleet({pool("lab", 1, 0, 0, 1, 0, "window opens at 22:00"), pool("empty", 0, 0, 0, 0, 0),
                            pool("default", 9, 9, 0, 0, 0)},
                           {lab}),
                     view());
    EXPECT_NE(
        text.find("  Pool: lab, driver 550.163.01\n        [>                       ] 0 of 1 done\n"
                  "        1 waiting\n        window opens at 22:00\n"
                  "  Pool: default, driver 550.163.01\n        [========================] 9 of 9 done\n"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("NODE  POOL  STATE"), std::string::npos) << text;
    EXPECT_EQ(text.find("empty"), std::string::npos);
}

TEST(FleetView, MissingOrSilentLeaderIsShown) {
    Json document = thousand();
    document["leader"]["silent"] = true;
    document["leader"]["renewed"] = now - 700;
    EXPECT_NE(render_fleet({}, document, view()).find("Leader: gpu01, silent for 11m: no upgrade begins\n"),
              std::string::npos);
    document["leader"] = nullptr;
    EXPECT_NE(render_fleet({}, document, view())
                  .find("Leader: none: hosts serve, but no upgrade begins\n"
                        "  Hint: On a host that shall lead, set Candidate=yes in section [Cluster] of "),
              std::string::npos);
}

TEST(FleetView, HintOfLimitedViewIsWhole) {
    Json document = thousand();
    document["leader"] = nullptr;
    const std::string text = render_fleet(terminal(), document, view(false, 24));
    EXPECT_NE(text.find("  Hint: see WHO LEADS in gpuhost-cluster(8)\n"), std::string::npos) << text;
}

TEST(FleetView, MissingHostsAndPolicyAreShown) {
    Json nothing = pool("default", 0, 0, 0, 0, 0);
    nothing["version"] = "";
    nothing["mode"] = "on-request";
    EXPECT_EQ(render_fleet({}, fleet({nothing}, Json::array()), view()),
              "Server: https://api:6443\nLeader: gpu01\n"
              "  Pool: default, no driver wanted, paused: autoUpgrade is off\n        no hosts\n");
}

TEST(FleetView, LeaderNamesPausedPool) {
    Json paused = pool("default", 1, 0, 0, 0, 0);
    Json document = {{"state", "connected"}, {"leader", {{"leads", true}, {"pools", {paused}}}}};
    EXPECT_NE(render_cluster({}, document).find("Pool: default: 0 of 1 hosts done"), std::string::npos)
        << render_cluster({}, document);
    document["leader"]["pools"][0]["mode"] = "on-request";
    EXPECT_NE(render_cluster({}, document).find("Pool: default, paused (autoUpgrade is off): 0 of 1 hosts"),
              std::string::npos)
        << render_cluster({}, document);
}

TEST(FleetView, ControlCharactersOfNodesAreReplaced) {
    const Json document = fleet({pool("default\033[2J", 1, 0, 0, 0, 1, "\033[2J")},
                                {node("a\033[2J", "failed", "\033[2J", "x\n\033[2Jy")});
    const std::string text = render_fleet({}, document, view()) + fleet_changes(Json(), document);
    EXPECT_EQ(text.find('\033'), std::string::npos) << text;
    EXPECT_NE(text.find("x ?[2Jy"), std::string::npos) << text;
}

TEST(FleetChanges, EachChangeIsOneLine) {
    Json before = thousand();
    EXPECT_EQ(fleet_changes(before, before), "");
    Json after = before;
    after["nodes"][650] = node("sim1650", "upgrading", "cordon-required", "");
    after["nodes"][660]["reason"] = "another";
    after["nodes"][992]["reason"] = "2 pods are left";
    after["nodes"].erase(999);
    after["pools"][0]["in_progress"] = 5;
    after["pools"][0]["pending"] = 339;
    EXPECT_EQ(fleet_changes(before, after),
              "sim1650 cordon-required 550.163.01\n"
              "sim1992 drain-required 550.163.01: 2 pods are left\n"
              "sim1999 deleted\n"
              "pool default: 650 of 1000 done, 2 failed, 5 under way, 339 waiting, 4 others: "
              "all places are taken: maxParallelUpgrades is 4\n");
}

TEST(Text, ShortSpanHasOneUnit) {
    for (const auto& [seconds, text] :
         {std::pair(0, "0s"), std::pair(119, "119s"), std::pair(120, "2m"), std::pair(7199, "119m"),
          std::pair(7200, "2h"), std::pair(172'800, "2d")})
        EXPECT_EQ(short_span(static_cast<std::uint64_t>(seconds)), text);
}

} // namespace
} // namespace gpuhost::ctl
