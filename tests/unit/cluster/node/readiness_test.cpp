// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/node/readiness.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;

/// Returns a configured host: two GPUs, a driver, a runtime, no pending steps.
Json good_host() {
    const Json nothing{{"steps", Json::array()}, {"problems", Json::array()}};
    return {{"state", "idle"},
            {"components",
             {{"driver",
               {{"observed",
                 {{"gpus",
                   {{{"address", "0000:01:00.0"}, {"driver", "nvidia"}},
                    {{"address", "0000:02:00.0"}, {"driver", "nvidia"}}}},
                  {"loaded_version", "550.163.01"},
                  {"selected", {{"version", "550.163.01"}}},
                  {"autoload", "allowed"},
                  {"devices_complete", true}}},
                {"plan", nothing}}},
              {"cdi", {{"observed", {{"enable", true}, {"record", {{"problem", ""}}}}}, {"plan", nothing}}},
              {"toolkit", {{"observed", Json::object()}, {"plan", nothing}}},
              {"runtime",
               {{"observed", {{"runtimes", {{{"name", "containerd"}, {"state", "configured"}}}}}},
                {"plan", nothing}}},
              {"images", {{"observed", {{"scrub", nullptr}, {"placement", nullptr}}}, {"plan", nothing}}}}}};
}

Json& part(Json& host, const char* component, const char* what) {
    return host["components"][component][what];
}

Condition find(const Json& host, std::string_view type) {
    const Readiness readiness = readiness_of(host);
    const Condition* found = readiness.find(type);
    return found == nullptr ? Condition{} : *found;
}

TEST(Readiness, ConfiguredHostIsReady) {
    const Readiness readiness = readiness_of(good_host());
    ASSERT_EQ(readiness.conditions.size(), 3U);
    for (const Condition& condition : readiness.conditions)
        EXPECT_EQ(condition.status, "True") << condition.type << ": " << condition.message;
    EXPECT_EQ(readiness.gpus, 2U);
    EXPECT_EQ(find(good_host(), driver_ready).message, "driver 550.163.01 serves 2 GPUs");
}

TEST(Readiness, DriverThatServesSomeGpusIsReady) {
    Json host = good_host();
    Json& gpus = part(host, "driver", "observed")["gpus"];
    gpus[1]["driver"] = "";
    gpus.push_back({{"address", "0000:03:00.0"}, {"driver", "vfio-pci"}});
    const Condition driver = find(host, driver_ready);
    EXPECT_EQ(driver.status, "True");
    EXPECT_EQ(driver.message, "driver 550.163.01 serves 1 of 2 GPUs; not served: 0000:02:00.0");
    gpus[0]["driver"] = "";
    EXPECT_EQ(find(host, driver_ready).status, "False");
    EXPECT_EQ(find(host, driver_ready).reason, "NotServed");
}

TEST(Readiness, ServingDriverIsReadyDuringPendingSwap) {
    Json host = good_host();
    part(host, "driver", "plan")["steps"] = {{{"kind", "driver.check"}}};
    part(host, "driver", "plan")["title"] = "swap driver 550.163.01 → 570.1.1";
    const Condition driver = find(host, driver_ready);
    EXPECT_EQ(driver.status, "True");
    EXPECT_NE(driver.message.find("pending: swap driver"), std::string::npos) << driver.message;
}

TEST(Readiness, PreinstalledDriverThatServesIsReady) {
    Json host = good_host();
    Json& observed = part(host, "driver", "observed");
    observed["configured"] = "preinstalled";
    observed["selected"] = nullptr;
    EXPECT_EQ(find(host, driver_ready).status, "True");
    part(host, "driver", "plan")["problems"] = {
        {{"code", "failed"}, {"text", "driver 550.163.01 does not drive 0000:02:00.0"}, {"hint", ""}}};
    EXPECT_EQ(find(host, driver_ready).message, "driver 550.163.01 does not drive 0000:02:00.0");
    EXPECT_EQ(find(host, driver_ready).status, "False");
    observed["configured"] = "off";
    observed["loaded_version"] = "";
    EXPECT_EQ(find(host, driver_ready).reason, "NotManaged");
    EXPECT_EQ(find(host, driver_ready).status, "True") << "no driver is configured";
}

TEST(Readiness, UnreadyDriverHasAReason) {
    Json host = good_host();
    part(host, "driver", "observed")["loaded_version"] = "";
    EXPECT_EQ(find(host, driver_ready).reason, "NotLoaded");
    part(host, "driver",
         "plan")["problems"] = {{{"code", "not-found"}, {"text", "no driver fits"}, {"hint", "Import one"}}};
    EXPECT_EQ(find(host, driver_ready),
              (Condition{std::string(driver_ready), "False", "NotFound", "no driver fits. Import one"}));

    host = good_host();
    part(host, "driver", "observed")["selected"]["version"] = "570.1.1";
    EXPECT_EQ(find(host, driver_ready).reason, "OtherSelected");
    host["state"] = "reboot-required";
    EXPECT_EQ(find(host, driver_ready).reason, "RebootRequired");

    host = good_host();
    part(host, "driver", "observed")["devices_complete"] = false;
    EXPECT_EQ(find(host, driver_ready).reason, "NoDevices");
    host = good_host();
    part(host, "driver", "observed")["autoload"] = "blocked";
    EXPECT_EQ(find(host, driver_ready).reason, "NoDevices");

    host = good_host();
    host["components"]["driver"] = {{"error", {{"code", "failed"}, {"message", "no /sys"}, {"hint", ""}}}};
    EXPECT_EQ(find(host, driver_ready),
              (Condition{std::string(driver_ready), "Unknown", "Failed", "no /sys"}));
    EXPECT_FALSE(readiness_of(host).gpus.has_value());
}

TEST(Readiness, HostWithoutGpuIsReady) {
    Json host = good_host();
    part(host, "driver", "observed")["gpus"] = Json::array();
    part(host, "driver", "observed")["loaded_version"] = "";
    const Condition driver = find(host, driver_ready);
    EXPECT_EQ(driver.status, "True");
    EXPECT_EQ(driver.reason, "NoGpu");
    EXPECT_EQ(readiness_of(host).gpus, 0U);
    part(host, "runtime", "plan")["steps"] = {{{"kind", "x"}}};
    part(host, "runtime", "plan")["title"] = "do it";
    EXPECT_EQ(find(host, runtime_ready).status, "True") << "no container needs it";
}

TEST(Readiness, UnreadyRuntimeHasAReason) {
    Json host = good_host();
    part(host, "cdi", "observed")["record"]["problem"] = "GPU 1 has no minor";
    EXPECT_EQ(find(host, runtime_ready),
              (Condition{std::string(runtime_ready), "False", "DevicesMissing", "GPU 1 has no minor"}));
    part(host, "cdi", "observed")["enable"] = false;
    EXPECT_EQ(find(host, runtime_ready).status, "True");

    for (const char* state : {"problem", "by-hand"}) {
        host = good_host();
        part(host, "runtime", "observed")["runtimes"].push_back(
            {{"name", "docker"}, {"state", state}, {"text", "why"}});
        EXPECT_EQ(find(host, runtime_ready).message, "docker: why");
        EXPECT_EQ(find(host, runtime_ready).status, "False");
    }
    host = good_host();
    part(host, "runtime", "observed")["runtimes"][0]["restart_wanted"] = true;
    part(host, "runtime", "observed")["runtimes"][0]["restart_text"] = "it has containers";
    EXPECT_EQ(find(host, runtime_ready).status, "True") << "the running configuration still provides GPUs";
    part(host, "runtime", "observed")["runtimes"][0]["withholds_gpus"] = true;
    EXPECT_EQ(find(host, runtime_ready).reason, "RestartWanted");

    part(host, "runtime", "observed")["runtimes"][1] = {
        {"name", "docker"}, {"state", "by-hand"}, {"text", "why"}, {"serves_cri", false}};
    part(host, "runtime", "observed")["runtimes"][0]["withholds_gpus"] = false;
    EXPECT_EQ(find(host, runtime_ready).status, "True") << "pods do not use Docker";
    for (const char* name : {"cdi", "toolkit", "runtime"}) {
        host = good_host();
        part(host, name, "plan")["steps"] = {{{"kind", "x"}}};
        part(host, name, "plan")["title"] = "do it";
        EXPECT_EQ(find(host, runtime_ready).reason, "Pending") << name;
        part(host, name, "plan")["problems"] = {{{"code", "in-use"}, {"text", "held"}, {"hint", ""}}};
        EXPECT_EQ(find(host, runtime_ready).reason, "InUse") << name;
    }
}

TEST(Readiness, PodmanAloneRunsNoPods) {
    Json host = good_host();
    Json& runtimes = part(host, "runtime", "observed")["runtimes"];
    const Json podman{{"name", "podman"}, {"kind", "podman"}, {"state", "ready"}, {"serves_cri", false}};
    runtimes = {podman};
    EXPECT_EQ(find(host, runtime_ready).status, "False");
    EXPECT_EQ(find(host, runtime_ready).reason, "NoRuntime");
    EXPECT_NE(find(host, runtime_ready).message.find("set ReadyWhen=driver"), std::string::npos);
    runtimes = {podman,
                {{"name", "docker"}, {"kind", "docker"}, {"state", "configured"}, {"serves_cri", false}}};
    EXPECT_EQ(find(host, runtime_ready).status, "True") << "cri-dockerd serves kubelets with Docker";
    runtimes = Json::array();
    EXPECT_EQ(find(host, runtime_ready).status, "True") << "an unknown runtime may serve the kubelet";
    runtimes = {podman};
    part(host, "driver", "observed")["gpus"] = Json::array();
    EXPECT_EQ(find(host, runtime_ready).status, "True") << "no container needs a GPU";
}

TEST(Readiness, UnreadyImagesHaveAReason) {
    Json host = good_host();
    part(host, "images", "observed")["scrub"] = {{"damaged", {{{"digest", "sha256:1"}}}}};
    EXPECT_EQ(find(host, images_ready).reason, "Damaged");
    for (const auto& [state, reason] :
         {std::pair("failed", "PullFailed"), std::pair("wanted", "NotPulled")}) {
        host = good_host();
        part(host, "images",
             "observed")["placement"] = {{"images", {{{"name", "a:1"}, {"state", state}, {"why", "w"}}}}};
        EXPECT_EQ(find(host, images_ready).reason, reason);
        EXPECT_EQ(find(host, images_ready).message, "a:1: w");
    }
    host = good_host();
    part(host, "images", "observed")["placement"] = {{"images", {{{"name", "a:1"}, {"state", "present"}}}},
                                                     {"absent", {"b:2"}}};
    EXPECT_EQ(find(host, images_ready).message, "no bundle on this host contains b:2");
}

TEST(Readiness, RunningOperationReportsOnlyCertainConditions) {
    Json host = good_host();
    host["state"] = "busy";
    part(host, "cdi", "plan")["steps"] = {{{"kind", "cdi.publish"}}};
    EXPECT_TRUE(readiness_of(host).conditions.empty());
    part(host, "driver", "observed")["loaded_version"] = "";
    const Readiness readiness = readiness_of(host);
    ASSERT_EQ(readiness.conditions.size(), 1U);
    EXPECT_EQ(readiness.conditions[0].status, "False");

    host = good_host();
    host["state"] = "starting";
    EXPECT_TRUE(readiness_of(host).conditions.empty());
}

/// Returns a host that has no offer to make.
Json host_without_offer(bool serve, const char* driver) {
    Json host = good_host();
    host["components"]["devices"] = {{"observed", {{"serve", serve}, {"inputs", {{"driver", driver}}}}},
                                     {"plan", {{"steps", Json::array()}, {"problems", Json::array()}}}};
    return host;
}

TEST(Readiness, AbsentOfferIsFinalOnceDecided) {
    EXPECT_TRUE(readiness_of(host_without_offer(false, "")).settled);
    EXPECT_TRUE(readiness_of(host_without_offer(true, "550.163.01")).settled);
    EXPECT_FALSE(readiness_of(host_without_offer(true, "")).settled) << "a driver may be loaded later";
    EXPECT_FALSE(readiness_of(good_host()).settled) << "not known";
}

TEST(Readiness, PendingDriverDoesNotDelayDevices) {
    for (const bool serve : {false, true}) {
        Json host = host_without_offer(serve, "550.163.01");
        part(host, "driver", "plan")["steps"] = {{{"kind", "driver.swap"}}};
        EXPECT_TRUE(readiness_of(host).settled);
    }
}

TEST(Readiness, UnfinishedDevicesAreNotSettled) {
    Json busy = host_without_offer(false, "");
    busy["state"] = "busy";
    EXPECT_FALSE(readiness_of(busy).settled);
    Json pending = host_without_offer(false, "");
    part(pending, "devices", "plan")["steps"] = {{{"kind", "devices.publish"}}};
    EXPECT_FALSE(readiness_of(pending).settled);
    Json failed = host_without_offer(false, "");
    failed["components"]["devices"] = {{"error", {{"code", "failed"}, {"message", "no memory"}}}};
    EXPECT_FALSE(readiness_of(failed).settled);
}

TEST(Readiness, DriverIsKnownDuringAnOperation) {
    Json host = good_host();
    host["state"] = "busy";
    EXPECT_EQ(driver_condition_of(host).status, "True");
}

TEST(Readiness, WithoutTheDaemonConditionsAreUnknown) {
    const Readiness readiness =
        readiness_without_daemon({base::Errc::Failed, "gpuhostd is not running", "Start it"});
    ASSERT_EQ(readiness.conditions.size(), 3U);
    for (const Condition& condition : readiness.conditions) {
        EXPECT_EQ(condition.status, "Unknown");
        EXPECT_EQ(condition.message, "gpuhostd is not running. Start it");
    }
    EXPECT_FALSE(readiness.gpus.has_value());
}

TEST(Readiness, MessagesAreBounded) {
    Json host = good_host();
    part(host, "cdi", "observed")["record"]["problem"] = std::string(5000, 'x');
    EXPECT_EQ(find(host, runtime_ready).message.size(), 1024U);
    std::string euros;
    while (euros.size() < 2000)
        euros += "\u20ac";
    part(host, "cdi", "observed")["record"]["problem"] = euros;
    EXPECT_EQ(find(host, runtime_ready).message, euros.substr(0, 1020) + "...");
}

} // namespace
} // namespace gpuhost::cluster
