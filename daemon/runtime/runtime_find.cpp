// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/runtime_find.hpp"

#include "daemon/runtime/runtime_profiles.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace gpuhost::runtime {

using base::Root;

std::vector<RuntimeInstance> find_runtimes(const Root& root) {
    std::vector<RuntimeInstance> instances =
        instances_of(read_runtime_units(root), read_runtime_processes(root));
    const auto is_socket = [&](std::string_view path) {
        const auto st = root.stat(path);
        return st && S_ISSOCK(st->st_mode);
    };
    for (const RuntimeProfile& profile : runtime_profiles()) {
        const bool known = std::any_of(instances.begin(), instances.end(), [&](const RuntimeInstance& one) {
            return one.name == profile.name || one.socket == profile.socket;
        });
        const bool is_here =
            profile.kind == RuntimeKind::Podman ? root.exists(profile.executable) : is_socket(profile.socket);
        if (known || !is_here)
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
    for (RuntimeInstance& instance : instances) {
        if (!is_socket(instance.socket))
            instance.socket.clear();
        if (!root.stat(instance.executable))
            instance.executable.clear();
    }
    std::sort(instances.begin(), instances.end(),
              [](const RuntimeInstance& a, const RuntimeInstance& b) { return a.name < b.name; });
    return instances;
}

} // namespace gpuhost::runtime
