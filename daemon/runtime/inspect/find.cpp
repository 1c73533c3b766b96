// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/find.hpp"

#include "daemon/runtime/inspect/profiles.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace gpuhost::runtime {

using base::Root;

namespace {

/// Returns true if the instance is that of the profile, by name or socket. An instance of the same kind with
/// an unknown socket counts too, because it may use the profile's socket.
bool is_profile(const RuntimeInstance& one, const RuntimeProfile& profile) {
    const bool may_listen_there = one.kind == profile.kind && profile.name == name_of(profile.kind) &&
                                  one.socket.empty() && one.name != "docker-containerd";
    return one.name == profile.name || one.socket == profile.socket || may_listen_there;
}

/// Returns true if the runtime of the profile exists, although no service or process was found. k3s and RKE2
/// use the same socket path, so the path identifies neither.
bool is_here(const Root& root, const RuntimeProfile& profile) {
    if (profile.kind == RuntimeKind::Podman)
        return root.exists(profile.executable);
    return profile.kind != RuntimeKind::K3s && profile.kind != RuntimeKind::Rke2 &&
           is_socket(root, std::string(profile.socket));
}

} // namespace

bool is_socket(const Root& root, const std::string& path) {
    const auto st = root.lstat(path);
    return st && S_ISSOCK(st->st_mode);
}

std::vector<RuntimeInstance> find_runtimes(const Root& root) {
    std::vector<RuntimeInstance> instances =
        instances_of(read_runtime_units(root), read_runtime_processes(root));
    for (const RuntimeProfile& profile : runtime_profiles()) {
        const bool known = std::any_of(instances.begin(), instances.end(),
                                       [&](const RuntimeInstance& one) { return is_profile(one, profile); });
        if (known || !is_here(root, profile))
            continue;
        RuntimeInstance instance;
        instance.name = profile.name;
        instance.kind = profile.kind;
        instance.config = profile.config;
        instance.socket = profile.socket;
        instance.executable = profile.executable;
        if (instance.kind == RuntimeKind::Crio)
            instance.config_directory = crio_drop_ins;
        instances.push_back(std::move(instance));
    }
    for (RuntimeInstance& instance : instances)
        if (!root.stat(instance.executable))
            instance.executable.clear();
    std::sort(instances.begin(), instances.end(),
              [](const RuntimeInstance& a, const RuntimeInstance& b) { return a.name < b.name; });
    return instances;
}

} // namespace gpuhost::runtime
