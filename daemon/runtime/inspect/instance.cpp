// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/instance.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/profiles.hpp"
#include "daemon/runtime/inspect/programs.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::starts_with;

namespace {

constexpr std::string_view docker_containerd = "docker-containerd";

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::string config_option(const std::vector<std::string>& command) {
    return option_value(command, {"--config", "-c", "--config-file"});
}

/// Returns the name and kind of the runtime that a containerd belongs to. The service of that containerd
/// decides, else its configuration file.
std::pair<std::string, RuntimeKind> containerd_of(const std::string& unit, const std::string& config) {
    if (unit == "docker.service" || starts_with(config, "/run/docker/") ||
        starts_with(config, "/var/run/docker/"))
        return {std::string(docker_containerd), RuntimeKind::Containerd};
    if (starts_with(unit, "k0s") || has(config, "/k0s/"))
        return {"k0s", RuntimeKind::K0s};
    if (starts_with(unit, "rke2-") || has(config, "/rke2/"))
        return {"rke2", RuntimeKind::Rke2};
    if (starts_with(unit, "k3s") || has(config, "/k3s/"))
        return {"k3s", RuntimeKind::K3s};
    if (starts_with(unit, "snap.microk8s.") || starts_with(config, "/var/snap/microk8s/"))
        return {"microk8s", RuntimeKind::Microk8s};
    return {"containerd", RuntimeKind::Containerd};
}

std::pair<std::string, RuntimeKind> owner_of(const std::vector<std::string>& command,
                                             const std::string& unit) {
    switch (program_of(command).value_or(RuntimeProgram::Containerd)) {
    case RuntimeProgram::Crio:
        return {"cri-o", RuntimeKind::Crio};
    case RuntimeProgram::Dockerd:
        return {"docker", RuntimeKind::Docker};
    case RuntimeProgram::K0s:
        return {"k0s", RuntimeKind::K0s};
    case RuntimeProgram::K3s:
        return {"k3s", RuntimeKind::K3s};
    case RuntimeProgram::Rke2:
        return {"rke2", RuntimeKind::Rke2};
    case RuntimeProgram::Microk8s:
        return {"microk8s", RuntimeKind::Microk8s};
    default:
        return containerd_of(unit, config_option(command));
    }
}

/// Applies a command line: that of the runtime, or of the program that starts it (k3s, k0s, …).
void apply_command(RuntimeInstance& instance, const std::vector<std::string>& command) {
    const RuntimeProfile& profile = profile_of(instance.name, instance.kind);
    instance.arguments = command;
    const auto program = program_of(command);
    const bool is_itself = !program || !starts_containerd(*program);
    instance.config = is_itself ? config_option(command) : "";
    if (const std::string data = option_value(command, {"--data-dir", "-d"}); !is_itself && !data.empty()) {
        if (program == RuntimeProgram::K0s)
            instance.executable = data + "/bin/containerd"; // its configuration stays in /etc/k0s
        else
            instance.config = data + "/agent/etc/containerd/config.toml";
    }
    instance.must_have_config = is_itself && !instance.config.empty();
    if (instance.config.empty())
        instance.config = profile.config;
    if (instance.kind == RuntimeKind::Crio) {
        const std::string directory = option_value(command, {"--config-dir", "-d"});
        instance.config_directory = directory.empty() ? std::string(crio_drop_ins) : directory;
    }
    instance.socket.clear();
    if (is_itself)
        instance.socket = option_value(command, {"--address", "-a", "--listen", "--host", "-H"});
    if (starts_with(instance.socket, "unix://"))
        instance.socket.erase(0, std::string_view("unix://").size());
    if (!starts_with(instance.socket, "/"))
        instance.socket.clear();
    if (instance.executable.empty() && is_itself && !command.empty() && starts_with(command.front(), "/"))
        instance.executable = command.front();
    if (instance.executable.empty())
        instance.executable = profile.executable;
}

/// Returns the path of containerd for a k3s or RKE2 executable. k3s acts as containerd when it is started by
/// that name, so the file with that name beside it is used.
std::string containerd_beside(const std::string& executable) {
    const std::size_t slash = executable.rfind('/');
    const bool another = slash != std::string::npos && executable.substr(slash + 1) != "containerd";
    return another ? executable.substr(0, slash) + "/containerd" : executable;
}

/// Suffix of the link /proc/PID/exe if the program's file was replaced after the start of the process.
constexpr std::string_view gone = " (deleted)";

std::string executable_of(const RuntimeProcess& process, RuntimeKind kind) {
    std::string path = process.executable;
    if (base::ends_with(path, gone))
        path.erase(path.size() - gone.size());
    return kind == RuntimeKind::K3s || kind == RuntimeKind::Rke2 ? containerd_beside(path) : path;
}

std::string unique_name(const std::vector<RuntimeInstance>& instances, const std::string& wanted) {
    const auto is_used = [&](const std::string& name) {
        return std::any_of(instances.begin(), instances.end(),
                           [&](const RuntimeInstance& one) { return one.name == name; });
    };
    std::string name = wanted;
    for (unsigned n = 2; is_used(name); ++n)
        name = wanted + "-" + std::to_string(n);
    return name;
}

} // namespace

std::vector<RuntimeInstance> instances_of(const std::vector<RuntimeUnit>& units,
                                          const std::vector<RuntimeProcess>& processes) {
    std::vector<RuntimeInstance> instances;
    const auto add = [&](const std::vector<std::string>& command,
                         const std::string& unit) -> RuntimeInstance& {
        auto [name, kind] = owner_of(command, unit);
        const bool other = name == "containerd" && !unit.empty() && unit != "containerd.service";
        RuntimeInstance instance;
        instance.name = unique_name(instances, other ? unit.substr(0, unit.rfind('.')) : name);
        instance.kind = kind;
        instance.unit = unit;
        return instances.emplace_back(std::move(instance));
    };
    for (const RuntimeUnit& unit : units) {
        const auto same = std::find_if(instances.begin(), instances.end(), [&](const RuntimeInstance& one) {
            return one.kind != RuntimeKind::Containerd &&
                   one.kind == owner_of(unit.command, unit.name).second;
        });
        if (same != instances.end())
            continue; // k3s.service and k3s-agent.service share one containerd
        RuntimeInstance& instance = add(unit.command, unit.name);
        instance.unit_file = unit.file;
        instance.bound_to = unit.bound_to;
        instance.kill_mode = unit.kill_mode;
        apply_command(instance, unit.command);
    }
    for (const RuntimeProcess& process : processes) {
        const auto program = program_of(process.command);
        if (program && starts_containerd(*program))
            continue; // its containerd is a separate process
        const auto [name, kind] = owner_of(process.command, process.unit);
        const std::string config = config_option(process.command);
        const auto is_it = [&, &name = name, &kind = kind](const RuntimeInstance& one) {
            if (one.pid != 0 || one.kind != kind ||
                (name == docker_containerd) != (one.name == docker_containerd))
                return false;
            return kind != RuntimeKind::Containerd || one.unit == process.unit ||
                   (process.unit.empty() && (config.empty() || config == one.config));
        };
        const auto found = std::find_if(instances.begin(), instances.end(), is_it);
        RuntimeInstance& instance = found != instances.end() ? *found : add(process.command, process.unit);
        instance.pid = process.pid;
        instance.is_held = !process.unit.empty();
        if (!process.unit.empty() && instance.unit != process.unit) {
            const auto unit = std::find_if(units.begin(), units.end(),
                                           [&](const RuntimeUnit& one) { return one.name == process.unit; });
            instance.unit = process.unit;
            instance.unit_file = unit == units.end() ? "" : unit->file;
            instance.bound_to = unit == units.end() ? std::vector<std::string>() : unit->bound_to;
            instance.kill_mode = unit == units.end() ? "" : unit->kill_mode;
        }
        instance.is_replaced = base::ends_with(process.executable, gone);
        if (!process.executable.empty())
            instance.executable = executable_of(process, kind);
        apply_command(instance, process.command);
    }
    return instances;
}

} // namespace gpuhost::runtime
