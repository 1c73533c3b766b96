// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/runtime/runtime_state.hpp"

#include <algorithm>

namespace gpuhost::runtime {

namespace {

/// By which NVIDIA's toolkit gives GPUs without CDI; nullptr: there is none.
const RuntimeHandler* nvidia_handler(const RuntimeConfig& config) {
    const auto is_nvidia = [](const RuntimeHandler& handler) {
        const std::string name = handler.binary.substr(handler.binary.rfind('/') + 1);
        return base::starts_with(name, "nvidia-container-runtime");
    };
    const auto found = std::find_if(config.handlers.begin(), config.handlers.end(), is_nvidia);
    return found == config.handlers.end() ? nullptr : &*found;
}

/// Without CDI.
std::string other_way(const RuntimeState& state) {
    const RuntimeHandler* const handler = nvidia_handler(state.config);
    if (handler == nullptr)
        return "";
    if (handler->name == state.config.default_handler)
        return "; until then all containers run in NVIDIA's runtime '" + handler->name + "'";
    return state.instance.kind == RuntimeKind::Docker
               ? "; until then it takes 'docker run --runtime " + handler->name + "'"
               : "; until then a pod needs a runtime class for '" + handler->name + "'";
}

std::string of_cdi(const RuntimeConfig& config) {
    const bool reads_ours =
        std::any_of(config.cdi_spec_dirs.begin(), config.cdi_spec_dirs.end(), [](const std::string& path) {
            const std::string plain = path.substr(0, path.find_last_not_of('/') + 1);
            return plain == "/run/cdi" || plain == "/var/run/cdi";
        });
    if (reads_ours)
        return "containers get GPUs by CDI: nothing to do";
    return "CDI is on, but looks in " +
           (config.cdi_spec_dirs.empty() ? "no directory" : base::join(config.cdi_spec_dirs, " and ")) +
           " alone: add /var/run/cdi to its directories";
}

std::string switch_on(const RuntimeState& state) {
    if (state.instance.kind == RuntimeKind::Docker)
        return R"(set "features": {"cdi": true} in )" + state.instance.config;
    const std::string table = "[plugins.\"" + state.config.cri_plugin + "\"]";
    switch (state.instance.kind) {
    case RuntimeKind::K3s:
    case RuntimeKind::Rke2:
        return "set enable_cdi = true in " + table + " of " + state.instance.config +
               ".tmpl, from which that file is made";
    case RuntimeKind::Microk8s:
        return "set enable_cdi = true in " + table + " of containerd-template.toml beside " +
               state.instance.config;
    default:
        return "set enable_cdi = true in " + table + " of " + state.instance.config;
    }
}

std::string needs(RuntimeKind kind) {
    switch (kind) {
    case RuntimeKind::Docker:
        return "CDI takes Docker 25 or newer";
    case RuntimeKind::Podman:
        return "CDI takes Podman 4.1 or newer";
    case RuntimeKind::Crio:
        return "CDI takes CRI-O 1.23 or newer";
    default:
        return "CDI takes containerd 1.7 or newer";
    }
}

} // namespace

std::string verdict(const RuntimeState& state) {
    if (!state.config.problems.empty())
        return "its configuration is wrong: " + state.config.problems.front();
    if (state.instance.name == "docker-containerd")
        return "Docker's own: what containers get is up to Docker";
    if (is_containerd(state.instance.kind) && !state.config.serves_cri)
        return "serves no pods: its CRI plugin is in disabled_plugins";
    switch (state.config.cdi) {
    case CdiState::On:
        return of_cdi(state.config);
    case CdiState::Off:
        return "CDI is off: " + switch_on(state) + ", and restart it" + other_way(state);
    case CdiState::Unsupported:
        return needs(state.instance.kind) + ", and this is " + state.instance.version->text +
               other_way(state);
    default:
        return needs(state.instance.kind) + ", and which this is can't be told here" + other_way(state);
    }
}

} // namespace gpuhost::runtime
