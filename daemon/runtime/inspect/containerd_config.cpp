// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/containerd_merge.hpp"
#include "daemon/runtime/inspect/containerd_registries.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Json;
using base::member;

namespace {

constexpr const char* runc = "io.containerd.runc.v2";

/// containerd's defaults, from config_unix.go in pkg/cri/config (internal/cri/config since 2.0).
const std::vector<std::string>& default_spec_dirs() {
    static const std::vector<std::string> directories{"/etc/cdi", "/var/run/cdi"};
    return directories;
}

RuntimeHandler handler_of(const std::string& name, const Json& said) {
    const Json& options = member(said, "options");
    const std::string type = base::string_or(said, "runtime_type", "");
    const char* const program = type == "io.containerd.runtime.v1.linux" ? "Runtime" : "BinaryName";
    RuntimeHandler handler{name, type, base::string_or(options, program, ""), std::nullopt};
    if (const auto systemd = base::get_bool(options, "SystemdCgroup"))
        handler.systemd_cgroup = *systemd;
    return handler;
}

/// Returns the handlers. Before 2.0 a table of runtimes replaces the default table, which contains only runc.
/// From 2.0 on the table extends the default table.
std::vector<RuntimeHandler> handlers_of(const Json& containerd, bool keeps_default) {
    Json runtimes = member(containerd, "runtimes");
    if (!runtimes.is_object())
        runtimes = Json{{"runc", Json::object()}};
    else if (keeps_default && !runtimes.contains("runc"))
        runtimes["runc"] = Json::object();
    const bool has_default = keeps_default || !member(containerd, "runtimes").is_object();
    std::vector<RuntimeHandler> handlers;
    for (const auto& [name, said] : runtimes.items()) {
        RuntimeHandler handler = handler_of(name, said);
        if (name == "runc" && has_default) {
            if (!member(said, "runtime_type").is_string())
                handler.type = runc;
            handler.systemd_cgroup = handler.systemd_cgroup.value_or(false);
        }
        handlers.push_back(std::move(handler));
    }
    return handlers;
}

/// Returns the state of CDI: off by default in 1.7, on in 2.0, and not switchable since 2.4.
CdiState cdi_state(const Json& cri, const std::optional<RuntimeVersion>& version, unsigned config_version) {
    const auto enabled = base::get_bool(cri, "enable_cdi");
    if (!version)
        return config_version < 3 || (enabled && !*enabled) ? CdiState::Unknown : CdiState::On;
    if (!version->is_at_least(1, 7))
        return CdiState::Unsupported;
    const bool is_default = version->is_at_least(2, 0);
    return version->is_at_least(2, 4) || enabled.value_or(is_default) ? CdiState::On : CdiState::Off;
}

bool has_cri(const Json& document) {
    const auto disabled = base::strings_or_empty(document, "disabled_plugins");
    return std::none_of(disabled.begin(), disabled.end(), [](const std::string& plugin) {
        return plugin == "cri" || plugin == "io.containerd.grpc.v1.cri" ||
               plugin == "io.containerd.cri.v1.runtime";
    });
}

} // namespace

RuntimeConfig containerd_config(const std::vector<Json>& files,
                                const std::optional<RuntimeVersion>& version) {
    ContainerdConfig merged = merge_containerd(files, version);
    RuntimeConfig config;
    config.cri_plugin = cri_plugin(merged.version);
    config.serves_cri = has_cri(merged.document);
    config.problems = std::move(merged.problems);
    config.socket = base::string_or(member(merged.document, "grpc"), "address", "");
    const Json& cri = member(member(merged.document, "plugins"), config.cri_plugin);
    const Json& containerd = member(cri, "containerd");
    config.default_handler = base::string_or(containerd, "default_runtime_name", "runc");
    config.handlers = handlers_of(containerd, merged.version > 2);
    if (const Json& old_default = member(containerd, old_default_table);
        merged.version <= 2 && !base::string_or(old_default, "runtime_type", "").empty()) {
        config.default_handler = old_default_handler;
        config.handlers.push_back(handler_of(config.default_handler, old_default));
    }
    if (std::none_of(config.handlers.begin(), config.handlers.end(),
                     [&](const RuntimeHandler& handler) { return handler.name == config.default_handler; }))
        config.problems.push_back("the default runtime '" + config.default_handler + "' is not configured");
    config.cdi = cdi_state(cri, version, merged.version);
    config.cdi_spec_dirs = base::get_strings(cri, "cdi_spec_dirs").value_or(default_spec_dirs());
    config.registry_hosts = registry_hosts(
        member(member(merged.document, "plugins"), cri_images_plugin(merged.version)), version);
    if (config.cdi == CdiState::Unsupported)
        config.cdi_spec_dirs.clear();
    return config;
}

} // namespace gpuhost::runtime
