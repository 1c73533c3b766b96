// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/runtime/configure/desired_config.hpp"
#include "daemon/runtime/inspect/cdi_support.hpp"
#include "daemon/runtime/inspect/containerd_merge.hpp"
#include "daemon/runtime/inspect/state.hpp"

#include <algorithm>

namespace gpuhost::runtime {

namespace {

/// Returns the handler through which NVIDIA's toolkit gives GPUs without CDI; nullptr if there is none.
const RuntimeHandler* nvidia_handler(const RuntimeConfig& config) {
    const auto is_nvidia = [](const RuntimeHandler& handler) {
        const std::string name = handler.binary.substr(handler.binary.rfind('/') + 1);
        return base::starts_with(name, "nvidia-container-runtime");
    };
    const auto by_default =
        std::find_if(config.handlers.begin(), config.handlers.end(), [&](const RuntimeHandler& handler) {
            return handler.name == config.default_handler && is_nvidia(handler);
        });
    if (by_default != config.handlers.end())
        return &*by_default;
    const auto found = std::find_if(config.handlers.begin(), config.handlers.end(), is_nvidia);
    return found == config.handlers.end() ? nullptr : &*found;
}

/// Returns the end of a verdict: how containers get GPUs until CDI is on. Empty if containers do not get GPUs
/// until then.
std::string other_way(const RuntimeState& state) {
    const RuntimeHandler* const handler = nvidia_handler(state.config);
    if (handler == nullptr)
        return "";
    if (handler->name == state.config.default_handler)
        return "; until then all containers run in NVIDIA's runtime '" + handler->name + "'";
    return state.instance.kind == RuntimeKind::Docker
               ? "; until then use 'docker run --runtime " + handler->name + "'"
               : "; until then a pod needs a runtime class for '" + handler->name + "'";
}

bool reads_version(const RuntimeState& state) {
    return reads_cdi(newest_cdi(state.instance.kind, state.instance.version), state.spec_version);
}

std::string of_cdi(const RuntimeState& state) {
    const auto& directories = state.config.cdi_spec_dirs;
    if (!reads_specs_in(state.config, state.spec_directory))
        return "CDI is on, but reads " +
               (directories.empty() ? "no directory" : "only " + base::join(directories, " and ")) +
               ": add " + (state.spec_directory == "/run/cdi" ? "/var/run/cdi" : state.spec_directory) +
               " to its directories";
    return reads_version(state) ? "containers get GPUs by CDI: nothing to do"
                                : too_new_text(state.spec_version);
}

/// The file in which to set enable_cdi, and the CRI's key in "plugins" in that file's version.
struct Place {
    std::string file;
    std::string key;
};

/// Finds the place where enable_cdi has effect. Before containerd 2.0 it is the last file that has the CRI's
/// table; from 2.0 on, the last file that sets enable_cdi.
Place place_of_cdi(const RuntimeState& state) {
    const ConfigFile& main = state.files.front();
    if (!main.exists)
        return {main.path, cri_plugin(2)};
    const bool is_old = !state.instance.version || !state.instance.version->is_at_least(2, 0);
    for (auto file = state.files.rbegin(); file != state.files.rend(); ++file) {
        const base::Json& plugins = base::member(file->content, "plugins");
        if (is_old && base::member(plugins, state.config.cri_plugin).is_object())
            return {file->path, state.config.cri_plugin};
        if (is_old)
            continue;
        for (const unsigned version : {config_version(file->content), 3U, 2U, 1U})
            if (const std::string key = cri_plugin(version);
                base::get_bool(base::member(plugins, key), "enable_cdi"))
                return {file->path, key};
    }
    return {main.path, is_old ? state.config.cri_plugin : cri_plugin(config_version(main.content))};
}

std::string switch_on(const RuntimeState& state) {
    if (state.instance.kind == RuntimeKind::Docker)
        return R"(set "features": {"cdi": true} in )" + state.instance.config;
    const Place place = place_of_cdi(state);
    const std::string table = "enable_cdi = true in [plugins.\"" + place.key + "\"] of ";
    return state.files.front().exists ? "set " + table + place.file
                                      : "write " + place.file + " with version = 2 and " + table + "it";
}

/// Returns the instruction for k0s. k0s merges containerd.d/ into the configuration of its containerd
/// (containerd/configurer.go of k0s 1.27 and newer).
std::string switch_on_in_k0s(const RuntimeState& state) {
    const ConfigFile& main = state.files.front();
    const auto imports = base::strings_or_empty(main.content, "imports");
    const bool is_made_by_k0s =
        !main.exists || std::any_of(imports.begin(), imports.end(), [](const std::string& path) {
            return base::ends_with(path, "/containerd-cri.toml");
        });
    if (!is_made_by_k0s)
        return switch_on(state) + ", and restart " +
               (state.instance.unit.empty() ? "k0s" : state.instance.unit);
    return "write " + main.path.substr(0, main.path.rfind('/')) +
           "/containerd.d/gpu.toml with version = 2 and enable_cdi = true in [plugins.\"" + cri_plugin(2) +
           "\"]: k0s merges it and restarts its containerd";
}

/// Returns the name of the distribution that writes the runtime's files; empty for other runtimes.
std::string_view who_configures(RuntimeKind kind) {
    return kind == RuntimeKind::K3s        ? "k3s"
           : kind == RuntimeKind::Rke2     ? "RKE2"
           : kind == RuntimeKind::Microk8s ? "MicroK8s"
                                           : "";
}

std::string needs(RuntimeKind kind) {
    const std::string version = first_with_cdi(kind) + " or newer";
    switch (kind) {
    case RuntimeKind::Docker:
        return "CDI requires Docker " + version;
    case RuntimeKind::Podman:
        return "CDI requires Podman " + version;
    case RuntimeKind::Crio:
        return "CDI requires CRI-O " + version;
    default:
        return "CDI requires containerd " + version;
    }
}

} // namespace

bool reads_specs(const RuntimeState& state) {
    return reads_specs_in(state.config, state.spec_directory) && reads_version(state);
}

std::string verdict(const RuntimeState& state) {
    if (state.instance.is_replaced)
        return state.config.problems.back();
    if (!state.config.problems.empty())
        return "its configuration is not valid: " + state.config.problems.front();
    if (state.instance.name == "docker-containerd")
        return "part of Docker, which decides what containers get";
    if (is_containerd(state.instance.kind) && !state.config.serves_cri)
        return "serves no pods: its CRI plugin is in disabled_plugins";
    if (state.is_secret)
        return "its configuration can't be read: run the command as root";
    switch (state.config.cdi) {
    case CdiState::On:
        return of_cdi(state);
    case CdiState::Off:
        if (state.instance.kind == RuntimeKind::K0s)
            return "CDI is off: " + switch_on_in_k0s(state);
        if (const std::string who(who_configures(state.instance.kind)); !who.empty())
            return "CDI is off: its containerd is configured by " + who +
                   ": see its documentation of containerd's templates";
        return "CDI is off: " + switch_on(state) + ", and restart it" + other_way(state);
    case CdiState::Unsupported:
        return needs(state.instance.kind) + ", but this is " + state.instance.version->text +
               other_way(state);
    default:
        return needs(state.instance.kind) + ", but this version is not known" + other_way(state);
    }
}

} // namespace gpuhost::runtime
