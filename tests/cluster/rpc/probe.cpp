// SPDX-License-Identifier: Apache-2.0
// daemon/rpc for tests with other implementations of gRPC:
// rpc-probe serve REGISTRATION PLUGIN   serves a plugin on two sockets; commands on stdin change it
// rpc-probe call SOCKET POD             asks a kubelet's podresources service for everything and for one pod
#include "daemon/host/event.hpp"
#include "daemon/rpc/client.hpp"
#include "daemon/rpc/kubelet/codec.hpp"
#include "daemon/rpc/server.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <list>
#include <string>
#include <vector>

#include <kubelet/deviceplugin.pb.h>
#include <kubelet/pluginregistration.pb.h>
#include <kubelet/podresources.pb.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace gpuhost {
namespace {

using base::Errc;
using base::Result;

void print(const std::string& line) {
    std::cout << line << std::endl; // a reader waits for it
}

class Plugin {
  public:
    Plugin(host::Event& event, std::string endpoint) : event_(event), endpoint_(std::move(endpoint)) {}

    [[nodiscard]] rpc::Service registration() {
        rpc::Service service{"pluginregistration.Registration", {}};
        service.methods["GetInfo"] = rpc::unary<pluginregistration::InfoRequest>([this](const auto&) {
            pluginregistration::PluginInfo info;
            info.set_type("DevicePlugin");
            info.set_name("nvidia.com/gpu");
            info.set_endpoint(endpoint_);
            info.add_supported_versions("v1beta1");
            return Result<pluginregistration::PluginInfo>(info);
        });
        service.methods["NotifyRegistrationStatus"] =
            rpc::unary<pluginregistration::RegistrationStatus>([](const auto& status) {
                print("registered " + std::to_string(status.plugin_registered()) + " " + status.error());
                return Result<pluginregistration::RegistrationStatusResponse>({});
            });
        return service;
    }

    [[nodiscard]] rpc::Service devices() {
        rpc::Service service{"v1beta1.DevicePlugin", {}};
        service.methods["GetDevicePluginOptions"] = rpc::unary<v1beta1::Empty>([](const auto&) {
            v1beta1::DevicePluginOptions options;
            options.set_get_preferred_allocation_available(true);
            return Result<v1beta1::DevicePluginOptions>(options);
        });
        service.methods["ListAndWatch"] =
            rpc::deferred<v1beta1::Empty>([this](const auto&, const rpc::Call& call) {
                call.send(list());
                call.on_cancel([] { print("watch ended"); });
                watchers_.add(call);
            });
        service.methods["Allocate"] = rpc::unary<v1beta1::AllocateRequest>(allocate);
        service.methods["GetPreferredAllocation"] = rpc::unary<v1beta1::PreferredAllocationRequest>(prefer);
        service.methods["PreStartContainer"] = rpc::deferred<v1beta1::PreStartContainerRequest>(
            [this](const auto& request, const rpc::Call& call) { answer_later(request, call); });
        return service;
    }

    /// Reads "devices N" and "end".
    void command(const std::string& line) {
        if (line == "end")
            return watchers_.end(base::fail(Errc::Busy, "the driver is being replaced"));
        healthy_ = std::stoi(line.substr(line.find(' ') + 1));
        watchers_.send(list());
    }

  private:
    [[nodiscard]] std::string list() const {
        v1beta1::ListAndWatchResponse list;
        for (int i = 0; i < 8; ++i) {
            auto* device = list.add_devices();
            device->set_id("GPU-" + std::to_string(i));
            device->set_health(i < healthy_ ? "Healthy" : "Unhealthy");
            device->mutable_topology()->add_nodes()->set_id(i / 4);
        }
        return rpc::bytes_of(list);
    }

    static Result<v1beta1::AllocateResponse> allocate(const v1beta1::AllocateRequest& request) {
        v1beta1::AllocateResponse response;
        for (const auto& container : request.container_requests()) {
            auto* made = response.add_container_responses();
            for (const auto& id : container.devices_ids()) {
                if (id.substr(0, 4) != "GPU-")
                    return base::fail(Errc::NotFound, "Gerät „" + id + "“: 100 % unbekannt\n次");
                made->add_cdi_devices()->set_name("nvidia.com/gpu=" + id);
                (*made->mutable_envs())["NVIDIA_VISIBLE_DEVICES"] += id + ",";
            }
        }
        return response;
    }

    static Result<v1beta1::PreferredAllocationResponse>
    prefer(const v1beta1::PreferredAllocationRequest& request) {
        v1beta1::PreferredAllocationResponse response;
        for (const auto& container : request.container_requests()) {
            auto* made = response.add_container_responses();
            const int size = std::min(container.allocation_size(), container.available_deviceids_size());
            for (int i = 0; i < size; ++i)
                made->add_deviceids(container.available_deviceids(i));
        }
        return response;
    }

    void answer_later(const v1beta1::PreStartContainerRequest& request, const rpc::Call& call) {
        call.on_cancel([] { print("cancelled"); });
        if (request.devices_ids_size() == 0)
            return forgotten_.push_back(call);
        timers_.push_back(*event_.after(std::chrono::milliseconds(50), [call] {
            call.answer(rpc::bytes_of(v1beta1::PreStartContainerResponse()));
        }));
    }

    host::Event& event_;
    std::string endpoint_;
    rpc::Watchers watchers_;
    int healthy_ = 8;
    std::list<rpc::Call> forgotten_; ///< never answered
    std::list<host::Source> timers_;
};

Result<int> serve(const std::string& registration_path, const std::string& plugin_path) {
    GPUHOST_TRY(event, host::Event::create());
    Plugin plugin(event, plugin_path);
    const auto report = [](const std::string& problem) { print("problem " + problem); };
    rpc::Limits limits;
    limits.patience = std::chrono::seconds(2);
    GPUHOST_TRY(devices, rpc::Server::start({plugin_path, {plugin.devices()}, limits, true, report}));
    GPUHOST_TRY(registration,
                rpc::Server::start({registration_path, {plugin.registration()}, limits, true, report}));
    const auto devices_source = event.on_io(devices.descriptor(), EPOLLIN, [&] { devices.work(); });
    const auto registration_source =
        event.on_io(registration.descriptor(), EPOLLIN, [&] { registration.work(); });
    const auto commands = event.on_io(STDIN_FILENO, EPOLLIN, [&] {
        std::array<char, 80> line{}; // its writer waits for the effect of each
        const ssize_t n = ::read(STDIN_FILENO, line.data(), line.size());
        if (n <= 1)
            return event.exit(0);
        plugin.command(std::string(line.data(), static_cast<std::size_t>(n) - 1));
    });
    if (!devices_source || !registration_source || !commands)
        return base::fail(Errc::Failed, "watching descriptors");
    print("ready");
    return event.run();
}

std::string words_of(const v1::PodResources& pod) {
    std::string words = pod.namespace_() + "/" + pod.name() + ":";
    for (const auto& container : pod.containers()) {
        for (const auto& devices : container.devices())
            for (const auto& id : devices.device_ids())
                words += " " + devices.resource_name() + "=" + id;
        for (const auto& resource : container.dynamic_resources())
            for (const auto& claim : resource.claim_resources())
                words += " " + claim.driver_name() + "/" + claim.pool_name() + "/" + claim.device_name();
    }
    return words;
}

template <class Answer, class Request>
Result<Answer> call(const std::string& path, const std::string& method, const Request& request) {
    rpc::UnaryRequest unary{"/v1.PodResourcesLister/" + method, rpc::bytes_of(request)};
    unary.deadline = std::chrono::seconds(2);
    GPUHOST_TRY(started, rpc::UnaryCall::start(path, std::move(unary)));
    GPUHOST_TRY(bytes, started.wait());
    return rpc::parse<Answer>(bytes);
}

Result<int> ask(const std::string& path, const std::string& pod) {
    GPUHOST_TRY(all, call<v1::ListPodResourcesResponse>(path, "List", v1::ListPodResourcesRequest()));
    for (const auto& one : all.pod_resources())
        print(words_of(one));
    GPUHOST_TRY(allocatable, call<v1::AllocatableResourcesResponse>(path, "GetAllocatableResources",
                                                                    v1::AllocatableResourcesRequest()));
    print("allocatable " + std::to_string(allocatable.devices_size()));
    v1::GetPodResourcesRequest request;
    request.set_pod_name(pod);
    request.set_pod_namespace("default");
    GPUHOST_TRY(one, call<v1::GetPodResourcesResponse>(path, "Get", request));
    print("one " + words_of(one.pod_resources()));
    return 0;
}

} // namespace
} // namespace gpuhost

int main(int count, char** words) {
    using namespace gpuhost;
    const std::vector<std::string> arguments(words + 1, words + count);
    if (arguments.size() != 3)
        return 2;
    const auto result =
        arguments[0] == "serve" ? serve(arguments[1], arguments[2]) : ask(arguments[1], arguments[2]);
    if (result)
        return *result;
    print("error " + std::string(base::info(result.error().code).name) + ": " + result.error().message);
    return 1;
}
