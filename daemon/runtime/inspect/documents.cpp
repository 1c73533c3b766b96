// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/documents.hpp"

#include "daemon/runtime/inspect/containerd_merge.hpp"

namespace gpuhost::runtime {

using base::Json;

namespace {

std::string cdi_name(CdiState state) {
    switch (state) {
    case CdiState::On:
        return "on";
    case CdiState::Off:
        return "off";
    case CdiState::Unsupported:
        return "unsupported";
    default:
        return "unknown";
    }
}

Json document_of(const ConfigFile& file, bool is_versioned) {
    Json document{{"path", file.path}, {"exists", file.exists}, {"problem", file.problem}};
    if (is_versioned && file.exists && file.problem.empty())
        document["version"] = config_version(file.content);
    return document;
}

Json document_of(const RuntimeHandler& handler) {
    Json document{{"name", handler.name}, {"type", handler.type}, {"binary", handler.binary}};
    if (handler.systemd_cgroup)
        document["systemd_cgroup"] = *handler.systemd_cgroup;
    return document;
}

} // namespace

Json show_runtime(const RuntimeState& state) {
    const RuntimeInstance& instance = state.instance;
    const RuntimeConfig& config = state.config;
    Json document{{"name", instance.name},
                  {"kind", name_of(instance.kind)},
                  {"running", instance.pid != 0},
                  {"pid", instance.pid},
                  {"unit", instance.unit},
                  {"unit_file", instance.unit_file},
                  {"socket", instance.socket},
                  {"executable", instance.executable},
                  {"version", instance.version ? instance.version->text : ""},
                  {"config", instance.config},
                  {"files", Json::array()},
                  {"cri_plugin", config.cri_plugin},
                  {"serves_cri", config.serves_cri},
                  {"default_runtime", config.default_handler},
                  {"runtimes", Json::array()},
                  {"cdi", cdi_name(config.cdi)},
                  {"cdi_spec_dirs", config.cdi_spec_dirs},
                  {"problems", config.problems},
                  {"verdict", verdict(state)}};
    for (const ConfigFile& file : state.files)
        document["files"].push_back(document_of(file, is_containerd(instance.kind)));
    for (const RuntimeHandler& handler : config.handlers)
        document["runtimes"].push_back(document_of(handler));
    return document;
}

Json list_runtimes(const std::vector<RuntimeState>& states) {
    Json documents = Json::array();
    for (const RuntimeState& state : states)
        documents.push_back(show_runtime(state));
    return {{"runtimes", std::move(documents)}};
}

} // namespace gpuhost::runtime
