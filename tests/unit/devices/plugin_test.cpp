// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/plugin/plugin.hpp"
#include "daemon/rpc/client.hpp"
#include "daemon/rpc/kubelet/codec.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <kubelet/deviceplugin.pb.h>
#include <kubelet/pluginregistration.pb.h>
#include <sys/epoll.h>

namespace gpuhost::devices {
namespace {

using base::Errc;
using base::Result;

class PluginTest : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directory(directory.path("registry"));
        PluginOptions options;
        options.resource = "nvidia.com/gpu";
        options.registry = directory.path("registry");
        options.sockets = directory.path();
        options.on_change = [this] { ++changes; };
        options.on_failure = [this](const base::Error& error) { failure = error.message; };
        options.allow_own_user = true;
        plugin.emplace(*Plugin::start(event, std::move(options)));
        plugin->offer(two, "");
    }

    template <class Answer, class Request>
    Result<Answer> call(const std::string& socket, const std::string& method, const Request& request) {
        GPUHOST_TRY(started, rpc::UnaryCall::start(socket, {method, rpc::bytes_of(request)}));
        std::optional<Result<std::string>> answer;
        const auto watched = event.on_io(started.descriptor(), EPOLLIN, [&] { answer = started.work(); });
        (void)event.run_until([&] { return answer.has_value(); });
        GPUHOST_TRY(bytes, *answer);
        return rpc::parse<Answer>(bytes);
    }

    Result<pluginregistration::PluginInfo> information() {
        return call<pluginregistration::PluginInfo>(registration, "/pluginregistration.Registration/GetInfo",
                                                    pluginregistration::InfoRequest());
    }

    Result<v1beta1::AllocateResponse> allocate(const std::vector<std::string>& ids) {
        v1beta1::AllocateRequest request;
        auto* container = request.add_container_requests();
        for (const std::string& id : ids)
            container->add_devices_ids(id);
        return call<v1beta1::AllocateResponse>(information()->endpoint(), "/v1beta1.DevicePlugin/Allocate",
                                               request);
    }

    /// Watches the devices as the kubelet does, and ends the connection.
    void connect_and_leave() {
        rpc::UnaryRequest request{"/v1beta1.DevicePlugin/ListAndWatch", rpc::bytes_of(v1beta1::Empty())};
        std::optional<rpc::UnaryCall> watcher =
            *rpc::UnaryCall::start(information()->endpoint(), std::move(request));
        const auto watched = event.on_io(watcher->descriptor(), EPOLLIN, [&] { (void)watcher->work(); });
        (void)event.run_until([&] { return plugin->served().connected; });
        EXPECT_EQ(plugin->served().devices, 2U);
    }

    tests::TempDir directory;
    std::string registration = directory.path("registry/nvidia.com_gpu.sock");
    host::Event event = *host::Event::create();
    Resource two{"nvidia.com/gpu", {{"GPU-1", "GPU-1", 0, ""}, {"GPU-2", "GPU-2", 1, ""}}, ""};
    Resource shared{
        "nvidia.com/gpu",
        {{"GPU-1::0", "GPU-1", 0, ""}, {"GPU-1::1", "GPU-1", 0, ""}, {"GPU-2::0", "GPU-2", 1, ""}},
        "",
        2};
    int changes = 0;
    std::string failure;
    std::optional<Plugin> plugin;
};

TEST_F(PluginTest, WithdrawnDevicesAreUnhealthy) {
    for (const bool withdrawn : {false, true}) {
        const auto list =
            rpc::parse<v1beta1::ListAndWatchResponse>(device_list(two, withdrawn ? "a swap" : ""));
        ASSERT_TRUE(list);
        ASSERT_EQ(list->devices_size(), 2);
        EXPECT_EQ(list->devices(1).id(), "GPU-2");
        EXPECT_EQ(list->devices(1).health(), withdrawn ? "Unhealthy" : "Healthy");
        EXPECT_EQ(list->devices(1).topology().nodes(0).id(), 1);
    }
}

TEST_F(PluginTest, UnhealthyDeviceIsListedAndRefused) {
    Resource one = two;
    one.devices[1].unhealthy = "Xid 79";
    const auto list = rpc::parse<v1beta1::ListAndWatchResponse>(device_list(one, ""));
    ASSERT_TRUE(list);
    EXPECT_EQ(list->devices(0).health(), "Healthy");
    EXPECT_EQ(list->devices(1).health(), "Unhealthy");
    plugin->offer(one, "");
    EXPECT_TRUE(allocate({"GPU-1"}));
    const auto refused = allocate({"GPU-2"});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("Xid 79"), std::string::npos) << refused.error().message;
}

TEST_F(PluginTest, RegistrationNamesTheServingSocket) {
    const auto info = information();
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->type(), "DevicePlugin");
    EXPECT_EQ(info->name(), "nvidia.com/gpu");
    EXPECT_EQ(info->supported_versions(0), "v1beta1");
    EXPECT_TRUE(std::filesystem::exists(info->endpoint()));
    EXPECT_NE(info->endpoint(), registration);
}

TEST_F(PluginTest, AllocationNamesTheCdiDevice) {
    const auto answer = allocate({"GPU-2"});
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_EQ(answer->container_responses(0).cdi_devices_size(), 1);
    EXPECT_EQ(answer->container_responses(0).cdi_devices(0).name(), "nvidia.com/gpu=GPU-2");
}

TEST_F(PluginTest, ReplicasOfOneGpuAreOneCdiDevice) {
    plugin->offer(shared, "");
    EXPECT_EQ(plugin->served().devices, 3U);
    const auto answer = allocate({"GPU-1::1", "GPU-1::0", "GPU-2::0"});
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_EQ(answer->container_responses(0).cdi_devices_size(), 2);
    EXPECT_EQ(answer->container_responses(0).cdi_devices(0).name(), "nvidia.com/gpu=GPU-1");
    EXPECT_EQ(answer->container_responses(0).cdi_devices(1).name(), "nvidia.com/gpu=GPU-2");
    EXPECT_FALSE(allocate({"GPU-1"}));
}

TEST_F(PluginTest, OneEachRefusesARequestOfTwo) {
    shared.one_each = true;
    plugin->offer(shared, "");
    EXPECT_TRUE(allocate({"GPU-1::1"}));
    const auto refused = allocate({"GPU-1::0", "GPU-2::0"});
    ASSERT_FALSE(refused);
    EXPECT_NE(
        refused.error().message.find("invalid allocation request for \"nvidia.com/gpu\": invalid request: "
                                     "maximum request size for shared resources is 1; found 2"),
        std::string::npos)
        << refused.error().message;
}

TEST_F(PluginTest, AllocationRefusesUnknownDevices) {
    const auto answer = allocate({"GPU-3"});
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().message.find("GPU-3"), std::string::npos);
}

TEST_F(PluginTest, AllocationSaysWhyDevicesAreWithdrawn) {
    plugin->offer(two, "the driver is being replaced");
    const auto answer = allocate({"GPU-1"});
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().message.find("the driver is being replaced"), std::string::npos);
}

TEST_F(PluginTest, PrefersDevicesOfOneNode) {
    v1beta1::PreferredAllocationRequest request;
    auto* container = request.add_container_requests();
    container->add_available_deviceids("GPU-1");
    container->add_available_deviceids("GPU-2");
    container->add_must_include_deviceids("GPU-2");
    container->set_allocation_size(-1);
    request.add_container_requests()->CopyFrom(*container);
    request.mutable_container_requests(1)->set_allocation_size(1);
    const auto answer = call<v1beta1::PreferredAllocationResponse>(
        information()->endpoint(), "/v1beta1.DevicePlugin/GetPreferredAllocation", request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->container_responses(0).deviceids_size(), 0);
    ASSERT_EQ(answer->container_responses(1).deviceids_size(), 1);
    EXPECT_EQ(answer->container_responses(1).deviceids(0), "GPU-2");
}

TEST_F(PluginTest, ReportsThatTheKubeletRefuses) {
    pluginregistration::RegistrationStatus status;
    status.set_error("name conflict");
    ASSERT_TRUE(call<pluginregistration::RegistrationStatusResponse>(
        registration, "/pluginregistration.Registration/NotifyRegistrationStatus", status));
    EXPECT_NE(plugin->served().error.find("name conflict"), std::string::npos);
    EXPECT_FALSE(plugin->served().connected);
    EXPECT_GT(changes, 0);
}

TEST_F(PluginTest, RegistersAgainAfterTheKubeletHasLeft) {
    connect_and_leave();
    (void)event.run_until([&] { return !std::filesystem::exists(registration); });
    EXPECT_FALSE(plugin->served().connected);
    (void)event.run_until([&] { return std::filesystem::exists(registration); });
    EXPECT_TRUE(information());
    EXPECT_EQ(failure, "");
}

TEST_F(PluginTest, ReportsThatItCannotRegisterAgain) {
    connect_and_leave();
    std::filesystem::remove_all(directory.path("registry"));
    (void)event.run_until([&] { return !failure.empty(); });
    EXPECT_NE(failure.find(directory.path("registry")), std::string::npos) << failure;
}

TEST_F(PluginTest, RegistersAgainAfterItsSocketWasRemoved) {
    std::filesystem::remove(registration);
    (void)event.run_until([&] { return std::filesystem::exists(registration); });
    EXPECT_TRUE(information());
    EXPECT_EQ(failure, "");
}

TEST_F(PluginTest, ReportsRemovedDirectoryWithoutAKubelet) {
    std::filesystem::remove_all(directory.path("registry"));
    (void)event.run_until([&] { return !failure.empty(); });
    EXPECT_NE(failure.find(directory.path("registry")), std::string::npos) << failure;
}

TEST_F(PluginTest, ChangedStrategyKeepsTheConnection) {
    rpc::UnaryRequest request{"/v1beta1.DevicePlugin/ListAndWatch", rpc::bytes_of(v1beta1::Empty())};
    auto watcher = *rpc::UnaryCall::start(information()->endpoint(), std::move(request));
    (void)event.run_until([&] { return plugin->served().connected; });
    two.strategies = {ListStrategy::envvar};
    plugin->offer(two, "");
    const auto answer = allocate({"GPU-2"});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->container_responses(0).envs().at("NVIDIA_VISIBLE_DEVICES"), "GPU-2");
    EXPECT_TRUE(plugin->served().connected);
}

TEST_F(PluginTest, EndRemovesItsSockets) {
    plugin.reset();
    EXPECT_TRUE(std::filesystem::is_empty(directory.path("registry")));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

} // namespace
} // namespace gpuhost::devices
