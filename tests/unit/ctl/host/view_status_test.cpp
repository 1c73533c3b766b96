// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/view.hpp"
#include "tests/unit/ctl/documents.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

Json host() {
    return {{"version", "0.1.0"},
            {"kernel", "6.1.0-50-amd64"},
            {"state", "idle"},
            {"ready", true},
            {"operation", nullptr},
            {"components",
             {{"driver",
               {{"observed",
                 {{"kernel", "6.1.0-50-amd64"},
                  {"gpus", {{{"address", "0000:01:00.0"}, {"device", "10de:2331"}, {"driver", "nvidia"}}}},
                  {"loaded", {{{"name", "nvidia"}}, {{"name", "nvidia_uvm"}}}},
                  {"loaded_version", "550.163.01"},
                  {"selected", {{"version", "550.163.01"}, {"previous", {{"version", "535.261.03"}}}}},
                  {"store", {{"versions", {{{"version", "550.163.01"}}, {{"version", "535.261.03"}}}}}},
                  {"units", {"nvidia-persistenced.service"}},
                  {"autoload", "allowed"}}},
                {"plan", {{"title", "converge"}, {"steps", Json::array()}, {"problems", Json::array()}}}}}}}};
}

TEST(StatusView, ConvergedHostHasNothingPending) {
    EXPECT_EQ(render_status({}, host(), swap_operation("committed", {"done", "done", "done"}), 1'072'000'000),
              "    Host: idle, kernel 6.1.0-50-amd64\n"
              "  Driver: 550.163.01 loaded: nvidia nvidia_uvm\n"
              "Selected: 550.163.01, previous 535.261.03\n"
              "    GPUs: 1, bound to nvidia\n"
              " Clients: nvidia-persistenced.service\n"
              " Pending: nothing\n"
              "    Last: operation 12, swap driver 535.261.03 → 550.163.01: committed, 1 min ago\n");
}

TEST(StatusView, UnservedGpuIsNamed) {
    Json partly = host();
    partly["components"]["driver"]["observed"]["gpus"].push_back(
        {{"address", "0000:02:00.0"}, {"device", "10de:2331"}, {"driver", ""}});
    EXPECT_NE(render_status({}, partly, Json(), 0)
                  .find("GPUs: 1 of 2 bound to nvidia; not bound: 0000:02:00.0 (why: gpuhostctl doctor)\n"),
              std::string::npos);
}

TEST(StatusView, ClustersDesiredVersionsAreShown) {
    Json wanted = host();
    wanted["cluster"] = {{"desired", {{"toolkit", "1.17.8"}, {"driver", "560.35.03"}}},
                         {"upgrade_requested", ""}};
    const std::string offered = render_status({}, wanted, Json(), 0);
    EXPECT_NE(offered.find(" Cluster: selects toolkit 1.17.8\n"), std::string::npos) << offered;
    EXPECT_NE(
        offered.find(
            " Cluster: selects driver 560.35.03 for this host; 'gpuhostctl apply' requests the upgrade\n"),
        std::string::npos)
        << offered;
    wanted["cluster"]["upgrade_requested"] = "560.35.03";
    const std::string asked = render_status({}, wanted, Json(), 0);
    EXPECT_NE(asked.find("upgrade of this host requested: driver 560.35.03\n"), std::string::npos) << asked;
}

TEST(StatusView, UpgradeThatIsNotDoneHasReason) {
    Json waits = host();
    waits["cluster"] = {
        {"upgrade",
         {{"state", "upgrade-required"}, {"version", "560.35.03"}, {"reason", "the node is not ready"}}}};
    const std::string line = " Cluster: waits to upgrade to 560.35.03: the node is not ready\n";
    EXPECT_NE(render_status({}, waits, Json(), 0).find(line), std::string::npos)
        << render_status({}, waits, Json(), 0);
    waits["cluster"]["upgrade"]["state"] = "drain-required";
    EXPECT_NE(render_status({}, waits, Json(), 0)
                  .find(" Cluster: upgrades to 560.35.03 (drain-required): the node is not ready\n"),
              std::string::npos);
    waits["cluster"]["upgrade"]["state"] = "upgrade-done";
    EXPECT_EQ(render_status({}, waits, Json(), 0).find("Cluster:"), std::string::npos);
}

TEST(StatusView, FailedUpgradeHasReasonAndNextStep) {
    Json failed = host();
    failed["cluster"] = {{"upgrade",
                          {{"state", "upgrade-failed"},
                           {"version", "560.35.03"},
                           {"reason", "the swap failed: module nvidia is in use"},
                           {"node", "gpu01"}}}};
    EXPECT_NE(
        render_status({}, failed, Json(), 0)
            .find(" Cluster: the upgrade to 560.35.03 failed: the swap failed: module nvidia is in use\n"
                  "    Hint: Remove the cause. Then let it try again: kubectl label node gpu01 "
                  "nvidia.com/gpu-driver-upgrade-state=upgrade-required --overwrite\n"),
        std::string::npos)
        << render_status({}, failed, Json(), 0);
}

TEST(StatusView, FailedUpgradeIsShownWithTheOffer) {
    Json failed = host();
    failed["cluster"] = {
        {"desired", {{"driver", "560.35.03"}}},
        {"upgrade",
         {{"state", "upgrade-failed"}, {"version", "560.35.03"}, {"reason", "no"}, {"node", "gpu01"}}}};
    const std::string text = render_status({}, failed, Json(), 0);
    EXPECT_NE(
        text.find(
            " Cluster: selects driver 560.35.03 for this host; 'gpuhostctl apply' requests the upgrade\n"
            " Cluster: the upgrade to 560.35.03 failed: no\n"
            "    Hint: Remove the cause. Then request it again: gpuhostctl apply.\n"),
        std::string::npos)
        << text;
}

TEST(StatusView, PendingStepsHaveReasons) {
    Json pending = host();
    Json& driver = pending["components"]["driver"];
    pending["state"] = "degraded";
    driver["observed"]["loaded"].clear();
    driver["observed"]["gpus"][0]["driver"] = "";
    driver["observed"]["selected"] = nullptr;
    driver["observed"]["units"].clear();
    driver["observed"]["autoload"] = "blocked";
    driver["plan"] = {
        {"title", "load driver 550.163.01"},
        {"steps", {{{"kind", "x"}, {"summary", "y"}}}},
        {"reasons", {"none loaded, wanted 550.163.01"}},
        {"problems", {{{"code", "in-use"}, {"text", "held by train.service"}, {"hint", "stop it"}}}}};
    EXPECT_EQ(render_status({}, pending, Json(), 0),
              "    Host: degraded, kernel 6.1.0-50-amd64\n"
              "  Driver: none loaded\n"
              "Selected: none for this kernel\n"
              "    GPUs: 0 of 1 bound to nvidia; not bound: 0000:01:00.0\n"
              "Autoload: blocked, GPU modules cannot be loaded\n"
              " Pending: load driver 550.163.01\n"
              "          none loaded, wanted 550.163.01\n"
              " Problem: held by train.service\n"
              "    Hint: stop it\n");
    driver["plan"]["problems"].clear();
    const std::string text = render_status({}, pending, Json(), 0);
    EXPECT_NE(text.find("wanted 550.163.01\n    Hint: Apply it: gpuhostctl apply.\n"), std::string::npos)
        << text;
}

TEST(StatusView, ProblemOfTheVerdictIsNotRepeated) {
    Json pending = host();
    Json& plan = pending["components"]["driver"]["plan"];
    plan["undecided"] = {{"code", "refused"}, {"text", "no driver is chosen"}, {"hint", "Choose one."}};
    pending["components"]["cdi"]["plan"] = {
        {"title", "publish"},
        {"steps", {{{"summary", "y"}}}},
        {"problems", {{{"text", "no driver is chosen"}, {"hint", "Another hint."}}}}};
    const std::string text =
        render_status({}, pending, Json(), 0, {false, "no driver is chosen", "Choose one."});
    EXPECT_NE(text.find("nvidia-persistenced.service\n"
                        " Pending: publish\n"
                        " Problem: no driver is chosen\n"
                        "    Hint: Another hint.\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("Choose one."), std::string::npos) << text;
}

TEST(StatusView, RunningOperationIsShown) {
    auto running = swap_operation("running", {"done", "running", "pending"});
    running["ended_us"] = 0;
    running["text"] = "waits for train.service";
    Json busy = host();
    busy["state"] = "busy";
    const std::string text = render_status({}, busy, running, 1'072'000'000);
    EXPECT_EQ(text.find("Pending"), std::string::npos);
    EXPECT_NE(text.find("Now: operation 12, swap driver 535.261.03 → 550.163.01: running, 43%\n"
                        "          waits for train.service\n"),
              std::string::npos)
        << text;
}

TEST(StatusView, FailureShowsItsCause) {
    auto last = swap_operation("rolled-back", {"undone", "undone", "pending"});
    last["error"] = error_document("failed", "nvidia: No such device", "");
    const std::string text = render_status({}, host(), last, 1'072'000'000);
    EXPECT_NE(text.find("rolled-back, 1 min ago\n          nvidia: No such device\n"
                        "    Hint: gpuhostctl operation show 12\n"),
              std::string::npos)
        << text;
}

TEST(StatusView, RefusalShowsAllProblems) {
    auto last = swap_operation("refused", {"pending", "pending", "pending"});
    last["error"] = error_document("refused", "preflight found problems", "");
    last["problems"] = {{{"code", "in-use"}, {"text", "python3 holds the driver"}}, {{"text", "no space"}}};
    const std::string text = render_status({}, host(), last, 1'072'000'000);
    EXPECT_NE(text.find("refused, 1 min ago\n          python3 holds the driver\n          no space\n"),
              std::string::npos)
        << text;
}

TEST(StatusView, RemovedPreviousDriverIsReported) {
    Json without = host();
    without["components"]["driver"]["observed"]["store"]["versions"].erase(1);
    EXPECT_NE(render_status({}, without, Json(), 0).find("previous 535.261.03 (no longer in the store)\n"),
              std::string::npos);
}

TEST(StatusView, FailedObservationShowsItsError) {
    Json blind = host();
    blind["components"]["driver"] = {{"error", error_document("failed", "/sys: gone", "")}};
    EXPECT_NE(render_status({}, blind, Json(), 0).find("Unknown: driver: /sys: gone\n"), std::string::npos);
}

TEST(StatusView, ComponentWithoutLinesShowsItsPlan) {
    Json with = host();
    with["components"]["images"] = {{"observed", {{"loaded_version", "7"}}},
                                    {"plan", {{"title", "fetch 2 images"}, {"steps", {{{"summary", "y"}}}}}}};
    const std::string text = render_status({}, with, Json(), 0);
    EXPECT_NE(text.find("Driver: 550.163.01 loaded"), std::string::npos) << text;
    EXPECT_NE(text.find("Pending: fetch 2 images\n"), std::string::npos) << text;
}

TEST(StatusView, StatusFitsOneScreen) {
    const std::string text =
        render_status({}, host(), swap_operation("committed", {"done", "done", "done"}), 0);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 24);
}

} // namespace
} // namespace gpuhost::ctl
