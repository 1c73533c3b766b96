// SPDX-License-Identifier: Apache-2.0
#include "kmod/holder/parse.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::kmod {
namespace {

constexpr std::size_t container_id_length = 64;

/// Returns the container ID in one component of a cgroup path: "cri-containerd-<id>.scope",
/// "docker-<id>.scope", "crio-<id>" or "<id>". Empty for others.
std::string container_id(std::string_view component) {
    if (const auto scope = component.rfind(".scope"); scope != std::string_view::npos)
        component = component.substr(0, scope);
    if (const auto dash = component.rfind('-'); dash != std::string_view::npos)
        component = component.substr(dash + 1);
    return component.size() == container_id_length && base::is_hex(component) ? std::string(component)
                                                                              : std::string();
}

/// Returns the pod's UID in one component of a cgroup path: "pod<uid>" or "kubepods-burstable-pod<uid with
/// underscores>.slice". Empty for others.
std::string pod_uid(std::string_view component) {
    const auto pod = component.rfind("pod");
    if (pod == std::string_view::npos)
        return {};
    std::string uid(component.substr(pod + 3));
    if (const auto slice = uid.find(".slice"); slice != std::string::npos)
        uid.resize(slice);
    std::replace(uid.begin(), uid.end(), '_', '-');
    constexpr std::size_t uuid_length = 36;
    // The UID of a static pod is a hash of its manifest, without dashes.
    constexpr std::size_t static_pod_length = 32;
    const bool fits = uid.size() == uuid_length || uid.size() == static_pod_length;
    return fits && uid.find_first_not_of("0123456789abcdef-") == std::string::npos ? uid : std::string();
}

/// Returns the process's path in the hierarchy that systemd manages: name=systemd of cgroup v1 if present,
/// else that of cgroup v2.
std::string systemd_path(std::string_view text) {
    std::string unified;
    for (const std::string& line : base::split(text, '\n')) {
        const auto path = line.find(":/");
        if (path == std::string::npos)
            continue;
        if (line.find(":name=systemd:") != std::string::npos)
            return line.substr(path + 1);
        if (base::starts_with(line, "0::"))
            unified = line.substr(path + 1);
    }
    return unified;
}

} // namespace

Origin parse_cgroup(std::string_view text) {
    Origin origin;
    const auto ends_as_unit = [](std::string_view name) {
        return base::ends_with(name, ".service") || base::ends_with(name, ".scope");
    };
    for (const std::string& component : base::split(systemd_path(text), '/')) {
        if (origin.unit.empty() && ends_as_unit(component))
            origin.unit = component;
        if (std::string id = container_id(component); !id.empty())
            origin.container = std::move(id);
        if (std::string uid = pod_uid(component); !uid.empty())
            origin.pod = std::move(uid);
    }
    return origin;
}

std::string may_be_driver_device(std::string_view path) {
    constexpr std::array<std::string_view, 3> devices{"/dev/nvidia", "/dev/dri/", "/dev/gdrdrv"};
    if (std::none_of(devices.begin(), devices.end(),
                     [&](std::string_view device) { return path.find(device) != path.npos; }))
        return {};
    constexpr std::string_view deleted = " (deleted)";
    if (base::ends_with(path, deleted))
        path.remove_suffix(deleted.size());
    return std::string(path);
}

} // namespace gpuhost::kmod
