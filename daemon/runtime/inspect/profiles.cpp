// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/profiles.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::runtime {

namespace {

constexpr std::array profiles{
    RuntimeProfile{"containerd", RuntimeKind::Containerd, "/etc/containerd/config.toml",
                   "/run/containerd/containerd.sock", "/usr/bin/containerd"},
    RuntimeProfile{"docker-containerd", RuntimeKind::Containerd, "/run/docker/containerd/containerd.toml",
                   "/run/docker/containerd/containerd.sock", "/usr/bin/containerd"},
    // k0s writes this file at each start, unless an administrator has removed its first line.
    RuntimeProfile{"k0s", RuntimeKind::K0s, "/etc/k0s/containerd.toml", "/run/k0s/containerd.sock",
                   "/var/lib/k0s/bin/containerd"},
    // k3s and RKE2 write this file at each start, from config.toml.tmpl beside it if that exists. Both use
    // the same socket path, so the path identifies neither.
    RuntimeProfile{"k3s", RuntimeKind::K3s, "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
                   "/run/k3s/containerd/containerd.sock", "/var/lib/rancher/k3s/data/current/bin/containerd"},
    RuntimeProfile{"rke2", RuntimeKind::Rke2, "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
                   "/run/k3s/containerd/containerd.sock", "/var/lib/rancher/rke2/bin/containerd"},
    RuntimeProfile{"microk8s", RuntimeKind::Microk8s, "/var/snap/microk8s/current/args/containerd.toml",
                   "/var/snap/microk8s/common/run/containerd.sock", "/snap/microk8s/current/bin/containerd"},
    RuntimeProfile{"cri-o", RuntimeKind::Crio, "/etc/crio/crio.conf", "/run/crio/crio.sock", "/usr/bin/crio"},
    RuntimeProfile{"docker", RuntimeKind::Docker, "/etc/docker/daemon.json", "/run/docker.sock",
                   "/usr/bin/dockerd"},
    RuntimeProfile{"podman", RuntimeKind::Podman, "/etc/containers/containers.conf",
                   "/run/podman/podman.sock", "/usr/bin/podman"},
};

} // namespace

std::string_view name_of(RuntimeKind kind) {
    return std::find_if(profiles.begin(), profiles.end(),
                        [&](const RuntimeProfile& profile) { return profile.kind == kind; })
        ->name;
}

bool is_containerd(RuntimeKind kind) {
    return kind == RuntimeKind::Containerd || kind == RuntimeKind::K0s || kind == RuntimeKind::K3s ||
           kind == RuntimeKind::Rke2 || kind == RuntimeKind::Microk8s;
}

std::span<const RuntimeProfile> runtime_profiles() {
    return profiles;
}

const RuntimeProfile& profile_of(std::string_view name, RuntimeKind kind) {
    const auto own = std::find_if(profiles.begin(), profiles.end(), [&](const RuntimeProfile& profile) {
        return profile.kind == kind && profile.name == name;
    });
    return own != profiles.end() ? *own
                                 : *std::find_if(profiles.begin(), profiles.end(),
                                                 [&](const auto& profile) { return profile.kind == kind; });
}

} // namespace gpuhost::runtime
