// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/plugin/plugin.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/log.hpp"
#include "daemon/devices/plugin/allocation.hpp"
#include "daemon/devices/prefer.hpp"
#include "daemon/rpc/kubelet/codec.hpp"
#include "daemon/rpc/server.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include <fcntl.h>
#include <kubelet/deviceplugin.pb.h>
#include <kubelet/pluginregistration.pb.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace gpuhost::devices {

using base::Result;

namespace {

/// Time between the end of a kubelet's connection and a new registration. The kubelet looks for changed
/// sockets once a second; until 1.36 it would take the end of the old connection for that of a new one.
constexpr std::chrono::seconds between_registrations{2};

std::string file_name(std::string resource) {
    std::replace(resource.begin(), resource.end(), '/', '_');
    return resource;
}

template <class Ids>
std::set<std::string> set_of(const Ids& ids) {
    return {ids.begin(), ids.end()};
}

} // namespace

std::string device_list(const Resource& resource, const std::string& withdrawn) {
    v1beta1::ListAndWatchResponse response;
    for (const ResourceDevice& device : resource.devices) {
        auto* listed = response.add_devices();
        listed->set_id(device.id);
        listed->set_health(withdrawn.empty() && device.unhealthy.empty() ? "Healthy" : "Unhealthy");
        if (device.numa)
            listed->mutable_topology()->add_nodes()->set_id(*device.numa);
    }
    return rpc::bytes_of(response);
}

struct Plugin::State {
    host::Event& event;
    PluginOptions options;
    Resource resource;
    std::string withdrawn;
    std::string error; ///< of the last registration
    rpc::Watchers watchers;
    std::optional<rpc::Server> server;
    std::optional<rpc::Server> registration;
    host::Source server_source;
    host::Source registration_source;
    host::Source registry_source; ///< sees that the registration socket is removed
    host::Source again;

    State(host::Event& loop, PluginOptions given) : event(loop), options(std::move(given)) {
        resource.name = options.resource;
    }

    [[nodiscard]] Result<void> listen(std::optional<rpc::Server>& kept, host::Source& source,
                                      std::string path, rpc::Service service) {
        const auto report = [name = options.resource](const std::string& problem) {
            base::log::warning(name + ": " + problem);
        };
        GPUHOST_TRY(
            started,
            rpc::Server::start({std::move(path), {std::move(service)}, {}, options.allow_own_user, report}));
        kept.emplace(std::move(started));
        GPUHOST_TRY(watched, event.on_io(kept->descriptor(), EPOLLIN, [&kept] { kept->work(); }));
        source = std::move(watched);
        return {};
    }

    /// Serves under a new name at each start: since 1.37 the kubelet refuses the path of a former connection.
    [[nodiscard]] Result<void> serve() {
        const std::string name = file_name(options.resource) + "-" + std::to_string(base::monotonic_us());
        return listen(server, server_source, options.sockets + "/" + name + ".sock", device_service());
    }

    [[nodiscard]] Result<void> register_plugin() {
        GPUHOST_CHECK(watch_registry());
        return listen(registration, registration_source, registration_path(), registration_service());
    }
    [[nodiscard]] std::string registration_path() const {
        return options.registry + "/" + file_name(options.resource) + ".sock";
    }

    [[nodiscard]] Result<void> watch_registry();
    void register_again();
    [[nodiscard]] rpc::Service registration_service();
    [[nodiscard]] rpc::Service device_service();
    void connected(const rpc::Call& call);
    void disconnected();
    [[nodiscard]] Result<v1beta1::PreferredAllocationResponse>
    prefer(const v1beta1::PreferredAllocationRequest& request) const;
};

/// Another program may remove the socket, for example "kubeadm reset" with the whole directory.
/// IN_DELETE_SELF does not occur while the directory is mounted or open.
Result<void> Plugin::State::watch_registry() {
    const base::UniqueFd directory(::open(options.registry.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
        return base::fail_errno("opening '" + options.registry + "'", errno);
    GPUHOST_TRY(watched, event.on_inotify(directory.get(), IN_DELETE | IN_MOVED_FROM, [this] {
        if (registration && ::access(registration_path().c_str(), F_OK) != 0)
            register_again();
    }));
    registry_source = std::move(watched);
    return {};
}

rpc::Service Plugin::State::registration_service() {
    rpc::Service service{"pluginregistration.Registration", {}};
    service.methods["GetInfo"] = rpc::unary<pluginregistration::InfoRequest>([this](const auto&) {
        pluginregistration::PluginInfo info;
        info.set_type("DevicePlugin");
        info.set_name(options.resource);
        info.set_endpoint(server->path());
        info.add_supported_versions("v1beta1");
        return Result<pluginregistration::PluginInfo>(info);
    });
    service.methods["NotifyRegistrationStatus"] =
        rpc::unary<pluginregistration::RegistrationStatus>([this](const auto& status) {
            error = status.plugin_registered() ? "" : "the kubelet refuses the plugin: " + status.error();
            if (!error.empty())
                base::log::warning(options.resource + ": " + error);
            options.on_change();
            return Result<pluginregistration::RegistrationStatusResponse>({});
        });
    return service;
}

rpc::Service Plugin::State::device_service() {
    rpc::Service service{"v1beta1.DevicePlugin", {}};
    service.methods["GetDevicePluginOptions"] = rpc::unary<v1beta1::Empty>([](const auto&) {
        v1beta1::DevicePluginOptions offered;
        offered.set_get_preferred_allocation_available(true);
        return Result<v1beta1::DevicePluginOptions>(offered);
    });
    service.methods["ListAndWatch"] =
        rpc::deferred<v1beta1::Empty>([this](const auto&, const rpc::Call& call) { connected(call); });
    service.methods["Allocate"] = rpc::unary<v1beta1::AllocateRequest>(
        [this](const auto& request) { return allocate(resource, withdrawn, request); });
    service.methods["GetPreferredAllocation"] = rpc::unary<v1beta1::PreferredAllocationRequest>(
        [this](const auto& request) { return prefer(request); });
    service.methods["PreStartContainer"] = rpc::unary<v1beta1::PreStartContainerRequest>(
        [](const auto&) { return Result<v1beta1::PreStartContainerResponse>({}); });
    return service;
}

void Plugin::State::connected(const rpc::Call& call) {
    call.send(device_list(resource, withdrawn));
    call.on_cancel([this] { disconnected(); });
    watchers.add(call);
    base::log::info(options.resource + ": the kubelet watches " + std::to_string(resource.devices.size()) +
                    " devices");
    options.on_change();
}

/// The kubelet never dials a device plugin again, but takes a registration socket that is made anew.
void Plugin::State::disconnected() {
    base::log::info(options.resource + ": the kubelet's connection has ended");
    if (watchers.count() == 0)
        register_again();
}

void Plugin::State::register_again() {
    auto removal = event.soon([this] {
        registration_source.reset();
        registration.reset();
        options.on_change();
        auto timer = event.after(between_registrations, [this] {
            if (const auto done = register_plugin(); !done)
                options.on_failure(done.error());
        });
        if (!timer)
            return options.on_failure(timer.error());
        again = std::move(*timer);
    });
    if (!removal)
        return options.on_failure(removal.error());
    again = std::move(*removal);
}

Result<v1beta1::PreferredAllocationResponse>
Plugin::State::prefer(const v1beta1::PreferredAllocationRequest& request) const {
    v1beta1::PreferredAllocationResponse response;
    for (const auto& container : request.container_requests()) {
        auto* made = response.add_container_responses();
        const auto size = static_cast<std::size_t>(std::max(0, container.allocation_size()));
        for (auto& id : devices::prefer(resource, set_of(container.available_deviceids()),
                                        set_of(container.must_include_deviceids()), size))
            made->add_deviceids(std::move(id));
    }
    return response;
}

Result<Plugin> Plugin::start(host::Event& event, PluginOptions options) {
    auto state = std::make_unique<State>(event, std::move(options));
    GPUHOST_CHECK(state->serve());
    GPUHOST_CHECK(state->register_plugin());
    return Plugin(std::move(state));
}

Plugin::Plugin(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plugin::~Plugin() = default;
Plugin::Plugin(Plugin&&) noexcept = default;
Plugin& Plugin::operator=(Plugin&&) noexcept = default;

void Plugin::offer(Resource resource, std::string withdrawn) {
    const std::string before = device_list(state_->resource, state_->withdrawn);
    state_->resource = std::move(resource);
    state_->withdrawn = std::move(withdrawn);
    const std::string list = device_list(state_->resource, state_->withdrawn);
    if (list == before) // what else has changed concerns only later requests
        return;
    state_->watchers.send(list);
    state_->server->work(); // sends now, so that an answer to gpuhostd is true
}

Served Plugin::served() const {
    const bool connected = state_->watchers.count() > 0;
    return {state_->resource.name, state_->resource.devices.size(), connected, state_->error};
}

} // namespace gpuhost::devices
