// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/gpu/view.hpp"
#include "daemon/devices/publish/documents.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;
using devices::Answer;
using devices::Gpu;
using devices::MigStrategy;
using devices::Offer;

Offer offer() {
    const Gpu split{
        "GPU-a", "0000:06:00.0", 0, 0, "NVIDIA H100", 81559, "9.0", true, {{"MIG-a", "1g.10gb", 0, 1, 0}},
        ""};
    const Gpu whole{"GPU-b", "0000:07:00.0", 1, std::nullopt, "", 0, "", false, {}, "GPU is lost"};
    return {"7", "nvidia.com/gpu", MigStrategy::mixed, "", {split, whole}, {}};
}

std::string rendered(const Offer& made, const std::optional<Answer>& answer) {
    return render_gpus({}, devices::list_gpus(made, answer));
}

TEST(GpuView, EachDeviceShowsItsResource) {
    const Answer answer{
        "7", {{"nvidia.com/gpu", 1, true, ""}, {"nvidia.com/mig-1g.10gb", 1, false, "name conflict"}}, {}};
    EXPECT_EQ(rendered(offer(), answer),
              "GPU      ADDRESS       MODEL        MEMORY  NUMA  HEALTH  KUBELET\n"
              "GPU-a    0000:06:00.0  NVIDIA H100  80 GiB     0  ok      MIG\n"
              "  MIG-a                1g.10gb                    ok      nvidia.com/mig-1g.10gb, kubelet not "
              "connected\n"
              "GPU-b    0000:07:00.0                             ok      nvidia.com/gpu\n"
              "nvidia.com/mig-1g.10gb: name conflict\n"
              "GPU-b: GPU is lost\n");
    EXPECT_EQ(rendered(offer(), Answer{"6", answer.resources, {}}), rendered(offer(), std::nullopt))
        << "an answer to an earlier offer";
}

TEST(GpuView, RealUuidsFitOnOneLine) {
    Offer made = offer();
    made.gpus[0].uuid = "GPU-2f4c2b1e-8a7d-4f0e-9a52-6d1c3b5e7f90";
    made.gpus[0].instances[0].uuid = "MIG-5f1d2c3b-0a9e-5d8c-b7a6-958473625140";
    const Answer answer{"7",
                        {{"nvidia.com/gpu", 1, true, ""}, {"nvidia.com/mig-1g.10gb", 1, true, ""}},
                        {{made.gpus[0].instances[0].uuid, devices::HealthState::unhealthy,
                          devices::Recovery::none, "Xid 79: lost", 79, 1}}};
    EXPECT_EQ(render_gpus({true, false, 80}, devices::list_gpus(made, answer)),
              "GPU                                         HEALTH     KUBELET\n"
              "GPU-2f4c2b1e-8a7d-4f0e-9a52-6d1c3b5e7f90    ok         MIG\n"
              "  MIG-5f1d2c3b-0a9e-5d8c-b7a6-958473625140  unhealthy  nvidia.com/mig-1g.10gb\n"
              "GPU-b                                       ok         nvidia.com/gpu\n"
              "MIG-5f1d2c3b-0a9e-5d8c-b7a6-958473625140: Xid 79: lost. Return it to the\n"
              "  kubelet: gpuhostctl gpu clear MIG-5f1d2c3b-0a9e-5d8c-b7a6-958473625140.\n"
              "GPU-b: GPU is lost\n");
}

TEST(GpuView, WithdrawnAndLeftOutDevicesHaveReasons) {
    Offer made = offer();
    made.withdrawn = "the driver is being replaced";
    made.mig = MigStrategy::none;
    const std::string text = rendered(made, std::nullopt);
    EXPECT_NE(text.find("1g.10gb                    unknown  not offered\n"), std::string::npos) << text;
    EXPECT_NE(text.find("withdrawn\nWithdrawn: the driver is being replaced\n"), std::string::npos) << text;
    EXPECT_NE(text.find("Health: gpuhost-devices has not answered. See why: systemctl status"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("nvidia.com/gpu: MIG is on for GPU-a"), std::string::npos) << text;
    EXPECT_EQ(render_gpus({}, devices::list_gpus(std::nullopt, std::nullopt)), "");
}

TEST(GpuView, UndetectedErrorsMakeHealthUnknown) {
    Answer answer{
        "7",
        {{"nvidia.com/gpu", 1, true, ""}, {"nvidia.com/mig-1g.10gb", 1, true, ""}},
        {{"GPU-b", devices::HealthState::unhealthy, devices::Recovery::none, "Xid 79: lost", 79, 1}},
        "errors are not detected: the standard input is not /dev/kmsg"};
    const Json list = devices::list_gpus(offer(), answer);
    EXPECT_EQ(list["gpus"][0]["health"]["state"], "unknown");
    EXPECT_EQ(list["gpus"][0]["instances"][0]["health"]["state"], "unknown");
    EXPECT_EQ(list["gpus"][1]["health"]["state"], "unhealthy") << "earlier faults stay known";
    const std::string text = rendered(offer(), answer);
    EXPECT_EQ(text.find(" ok "), std::string::npos) << text;
    const std::string why = "errors are not detected: the standard input is not /dev/kmsg. Restart the "
                            "service: systemctl restart gpuhost-devices.";
    EXPECT_EQ(text.find(why), text.rfind(why)) << "once: " << text;
    EXPECT_NE(text.find(why), std::string::npos) << text;
    const std::string shown = render_gpu({}, list["gpus"][0], "");
    EXPECT_NE(shown.find("Health: unknown\n"), std::string::npos) << shown;
    EXPECT_NE(shown.find("systemctl restart gpuhost-devices"), std::string::npos) << shown;
}

TEST(GpuView, ShownGpuHasItsNvlinks) {
    Offer made = offer();
    EXPECT_EQ(render_gpu({}, devices::list_gpus(made, std::nullopt)["gpus"][1], "").find("NVLink"),
              std::string::npos);
    made.gpus[1].nvlinks = {{"GPU-a", 2}, {"GPU-c", 4}};
    const std::string shown = render_gpu({}, devices::list_gpus(made, std::nullopt)["gpus"][1], "");
    EXPECT_NE(shown.find("NVLink: 2 to GPU-a\n"), std::string::npos) << shown;
    EXPECT_NE(shown.find("NVLink: 4 to GPU-c\n"), std::string::npos) << shown;
}

/// Returns what serving_of() says after changes of a document in which all is well.
template <class Change>
Serving serving(Change change) {
    Json observed{{"serve", true},
                  {"running", true},
                  {"offer", {{"id", "7"}, {"withdrawn", ""}}},
                  {"answer",
                   {{"id", "7"},
                    {"resources",
                     {{{"name", "nvidia.com/gpu"}, {"devices", 2}, {"connected", true}, {"error", ""}}}}}}};
    change(observed);
    return serving_of(observed);
}

TEST(GpuView, ServingNamesTheFirstObstacle) {
    const Serving well = serving([](Json&) {});
    EXPECT_TRUE(well.ok);
    EXPECT_EQ(well.text, "gets 2 of nvidia.com/gpu");
    const auto why = [](auto change) {
        const Serving found = serving(change);
        EXPECT_FALSE(found.ok);
        EXPECT_NE(found.next, "");
        return found.text;
    };
    EXPECT_EQ(why([](Json& o) { o["offer"] = nullptr; }), "gets no GPU: they are not offered");
    EXPECT_EQ(why([](Json& o) { o["offer"]["withdrawn"] = "swap"; }), "gets no GPU: swap");
    EXPECT_EQ(why([](Json& o) { o["running"] = false; }), "gets no GPU: gpuhost-devices does not run");
    EXPECT_EQ(why([](Json& o) { o["answer"] = nullptr; }), "does not know of the last change");
    EXPECT_EQ(why([](Json& o) { o["answer"]["resources"][0]["error"] = "taken"; }),
              "refused nvidia.com/gpu: taken");
    EXPECT_EQ(why([](Json& o) { o["answer"]["resources"][0]["connected"] = false; }),
              "is not connected for nvidia.com/gpu");
}

TEST(GpuView, StatusHasALineUnlessServeIsOff) {
    const auto line = [](const Json& observed) {
        Facts facts;
        add_devices_lines(facts, {}, observed);
        return facts.render({});
    };
    EXPECT_EQ(line({{"serve", false}, {"exists", false}}), "");
    EXPECT_EQ(line({{"serve", true}, {"offer", nullptr}}), "Kubelet: gets no GPU: they are not offered\n");
    const std::string blind = line({{"serve", true}, {"offer", nullptr}, {"answer", {{"blind", "the end"}}}});
    EXPECT_NE(blind.find("GPUs: health is unknown: the end\n"), std::string::npos) << blind;
    EXPECT_NE(blind.find("Hint: Restart the service"), std::string::npos) << blind;
}

} // namespace
} // namespace gpuhost::ctl
