// SPDX-License-Identifier: Apache-2.0
// A device plugin of the kubelet for one resource: service v1beta1.DevicePlugin. The kubelet's plugin watcher
// finds it through service pluginregistration.Registration on a second socket.
#pragma once

#include "daemon/devices/resources.hpp"
#include "daemon/host/event.hpp"

#include <functional>
#include <memory>
#include <string>

namespace gpuhost::devices {

struct PluginOptions {
    std::string resource;            ///< name of the resource
    std::string registry;            ///< directory for the registration socket, which the kubelet watches
    std::string sockets;             ///< directory for the serving socket, at the same path for the kubelet
    std::function<void()> on_change; ///< served() has changed
    /// The plugin can't register again, for example because the kubelet's directory was removed.
    std::function<void(const base::Error&)> on_failure;
    bool allow_own_user = false; ///< not only root may connect; for tests
};

/// Returns a serialized v1beta1.ListAndWatchResponse. All devices are unhealthy if `withdrawn` says why, else
/// those whose ResourceDevice::unhealthy does.
[[nodiscard]] std::string device_list(const Resource& resource, const std::string& withdrawn);

class Plugin {
  public:
    /// Begins to serve, with no devices. `event` must outlive the plugin.
    [[nodiscard]] static base::Result<Plugin> start(host::Event& event, PluginOptions options);
    /// Removes the sockets. The kubelet then regards all devices as gone; containers keep running.
    ~Plugin();
    Plugin(Plugin&&) noexcept;
    Plugin& operator=(Plugin&&) noexcept;
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;

    /// Tells the kubelet about the devices. All are unhealthy if `withdrawn` says why.
    void offer(Resource resource, std::string withdrawn);
    [[nodiscard]] Served served() const;

  private:
    struct State;
    explicit Plugin(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace gpuhost::devices
