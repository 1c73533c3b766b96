// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/host/verdict.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

Json plan() {
    return {{"title", "converge"},
            {"steps", Json::array()},
            {"reasons", Json::array()},
            {"problems", Json::array()}};
}

/// Returns a host whose driver serves both GPUs.
Json host() {
    return {{"kernel", "6.1.0-50-amd64"},
            {"state", "idle"},
            {"ready", true},
            {"operation", nullptr},
            {"components",
             {{"cdi", {{"observed", Json::object()}, {"plan", plan()}}},
              {"driver",
               {{"observed",
                 {{"loaded_version", "550.163.01"},
                  {"configured", ""},
                  {"gpus",
                   {{{"address", "0000:01:00.0"}, {"driver", "nvidia"}},
                    {{"address", "0000:02:00.0"}, {"driver", "nvidia"}}}}}},
                {"plan", plan()}}}}}};
}

std::string said(const Json& document, const Json& operation = {}) {
    return render_verdict({}, verdict_of(document, operation));
}

TEST(Verdict, OkIfDriverServesAllGpus) {
    EXPECT_TRUE(verdict_of(host(), {}).ok);
    EXPECT_EQ(said(host()), "OK: driver 550.163.01 serves 2 GPUs\n");
}

TEST(Verdict, OkWithoutGpus) {
    Json none = host();
    none["components"]["driver"]["observed"]["gpus"] = Json::array();
    none["components"]["driver"]["observed"]["loaded_version"] = "";
    EXPECT_EQ(said(none), "OK: this host has no NVIDIA GPU for a driver\n");
    none["components"]["driver"]["observed"]["gpus"] = {
        {{"address", "0000:01:00.0"}, {"driver", "vfio-pci"}}};
    EXPECT_TRUE(verdict_of(none, {}).ok) << "another driver is bound to the GPU";
}

TEST(Verdict, OkIfVersionIsOff) {
    Json off = host();
    Json& driver = off["components"]["driver"]["observed"];
    driver["configured"] = "off";
    driver["loaded_version"] = "";
    driver["gpus"][0]["driver"] = "";
    EXPECT_EQ(said(off), "OK: gpuhostd does not manage the driver (Version=off)\n");
}

TEST(Verdict, NotOkIfDriverMissesGpu) {
    Json dead = host();
    dead["components"]["driver"]["observed"]["gpus"][1]["driver"] = "";
    EXPECT_EQ(said(dead), "NOT OK: driver 550.163.01 does not serve 1 GPU of 2: 0000:02:00.0\n"
                          "Hint: Find the reason: gpuhostctl doctor.\n");
    dead["components"]["driver"]["observed"]["configured"] = "preinstalled";
    EXPECT_FALSE(verdict_of(dead, {}).ok);
}

TEST(Verdict, NotOkIfNoDriverIsChosen) {
    Json fresh = host();
    fresh["components"]["driver"]["plan"]["undecided"] = {{"code", "refused"},
                                                          {"text", "no driver is chosen"},
                                                          {"hint", "Choose one: gpuhostctl driver swap 550"}};
    EXPECT_EQ(said(fresh), "NOT OK: no driver is chosen\nHint: Choose one: gpuhostctl driver swap 550\n");
}

TEST(Verdict, NotOkIfSomethingIsPending) {
    Json pending = host();
    pending["components"]["cdi"]["plan"]["title"] = "publish";
    pending["components"]["cdi"]["plan"]["steps"] = {{{"kind", "cdi.publish"}}};
    EXPECT_EQ(said(pending), "NOT OK: pending: publish\nHint: Apply it: gpuhostctl apply.\n");
    pending["components"]["driver"]["plan"]["problems"] = {
        {{"code", "in-use"}, {"text", "held by train.service"}, {"hint", "Stop it."}}};
    EXPECT_EQ(said(pending), "NOT OK: held by train.service\nHint: Stop it.\n") << "the driver has priority";
}

TEST(Verdict, FailedApplyHasItsCauseFirst) {
    Json pending = host();
    pending["components"]["driver"]["plan"]["title"] = "load driver 550.163.01";
    pending["components"]["driver"]["plan"]["steps"] = {{{"kind", "modules.converge"}}};
    Json last{{"id", 25}, {"kind", "apply"}, {"state", "failed"}, {"ended_us", 1}};
    EXPECT_EQ(said(pending, last), "NOT OK: pending: load driver 550.163.01\n"
                                   "Hint: See why it failed: gpuhostctl operation show 25. Then apply it: "
                                   "gpuhostctl apply.\n");
    Json& driver = pending["components"]["driver"]["observed"];
    driver["selected"] = {{"version", "550.163.01"}, {"previous", {{"version", "535.261.03"}}}};
    EXPECT_EQ(said(pending, last).find("rollback"), std::string::npos) << "the selected driver runs";
    driver["loaded_version"] = "";
    EXPECT_NE(said(pending, last).find("gpuhostctl apply. Or go back: gpuhostctl driver rollback.\n"),
              std::string::npos)
        << said(pending, last);
    last["state"] = "refused";
    EXPECT_NE(said(pending, last).find("See why it failed"), std::string::npos);
    last["state"] = "committed";
    EXPECT_NE(said(pending, last).find("Hint: Apply it: gpuhostctl apply.\n"), std::string::npos);
    last["state"] = "rolled-back";
    last["kind"] = "driver.swap";
    EXPECT_NE(said(pending, last).find("Hint: Apply it: gpuhostctl apply.\n"), std::string::npos);
}

TEST(Verdict, NotOkIfConfigurationHasMistakes) {
    Json mistaken = host();
    mistaken["config_problems"] = {"/etc/a.conf:2: unknown key 'Foo' in [CDI], ignoring", "another"};
    mistaken["components"]["cdi"]["plan"]["steps"] = {{{"kind", "cdi.publish"}}};
    EXPECT_EQ(said(mistaken), "NOT OK: configuration: /etc/a.conf:2: unknown key 'Foo' in [CDI], ignoring\n"
                              "Hint: Check it: gpuhostctl config check.\n");
    mistaken["components"]["driver"]["observed"]["gpus"][1]["driver"] = "";
    EXPECT_NE(said(mistaken).find("does not serve 1 GPU of 2"), std::string::npos)
        << "the driver has priority";
}

TEST(Verdict, NotOkIfComponentCannotBeObserved) {
    Json unseen = host();
    unseen["components"]["cdi"] = {{"error", {{"code", "failed"}, {"message", "I/O error"}}}};
    EXPECT_EQ(said(unseen), "NOT OK: cdi: I/O error\nHint: See why: journalctl --unit=gpuhostd.\n");
}

TEST(Verdict, NotOkWhileHostChanges) {
    Json busy = host();
    busy["state"] = "busy";
    const Json swap{{"id", 12}, {"title", "swap driver"}, {"changes_host", true}};
    EXPECT_EQ(said(busy, swap), "NOT OK: operation 12 changes this host: swap driver\n"
                                "Hint: Wait for it: gpuhostctl operation wait 12.\n");
    EXPECT_TRUE(verdict_of(busy, {{"id", 13}, {"title", "import"}, {"changes_host", false}}).ok);
    Json dry = swap;
    dry["dry_run"] = true;
    EXPECT_TRUE(verdict_of(busy, dry).ok) << "a dry run changes nothing";
}

TEST(Verdict, NotOkBeforeConvergenceAndReboot) {
    Json starting = host();
    starting["ready"] = false;
    EXPECT_EQ(said(starting), "NOT OK: gpuhostd is still starting\n"
                              "Hint: Wait for it: gpuhostctl wait-ready.\n");
    Json stuck = host();
    stuck["state"] = "reboot-required";
    EXPECT_EQ(said(stuck), "NOT OK: this host requires a reboot\nHint: Reboot it: systemctl reboot.\n");
}

TEST(Verdict, JsonHasTextAndHint) {
    EXPECT_EQ(to_json(verdict_of(host(), {})),
              Json({{"ok", true}, {"text", "driver 550.163.01 serves 2 GPUs"}, {"hint", ""}}));
}

} // namespace
} // namespace gpuhost::ctl
