// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/config.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/cdi_support.hpp"
#include "daemon/runtime/inspect/programs.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Json;
using base::member;

namespace {

/// Returns the configured directories of specifications. The default is the same for all three runtimes.
std::vector<std::string> spec_dirs(const Json& table, std::string_view key) {
    return base::get_strings(table, key).value_or(std::vector<std::string>{"/etc/cdi", "/var/run/cdi"});
}

/// Returns the state of CDI for runtimes without a switch: On if this version reads a CDI version of
/// gpuhostd.
CdiState reads_cdi_by_itself(RuntimeKind kind, const std::optional<RuntimeVersion>& version) {
    if (!version)
        return CdiState::Unknown;
    return newest_cdi(kind, version).empty() ? CdiState::Unsupported : CdiState::On;
}

/// Merges two tables. A member that is itself a table is replaced, not merged: a later file replaces the
/// whole table of a runtime.
void add_tables(Json& to, const Json& from) {
    if (from.is_object())
        to.update(from);
}

/// Returns the state of Docker's CDI. features.cdi enables it since 25.0; it is the default since 28.2 (moby
/// issue 45192 and dockerd(8)).
CdiState docker_cdi(const Json& daemon, const std::vector<std::string>& arguments,
                    const std::optional<RuntimeVersion>& version) {
    auto enabled = base::get_bool(member(daemon, "features"), "cdi");
    for (const std::string& feature : option_values(arguments, "--feature"))
        if (feature == "cdi" || feature == "cdi=true")
            enabled = true;
        else if (feature == "cdi=false")
            enabled = false;
    if (version && !version->is_at_least(25, 0))
        return CdiState::Unsupported;
    if (enabled)
        return *enabled ? CdiState::On : CdiState::Off;
    return !version ? CdiState::Unknown : version->is_at_least(28, 2) ? CdiState::On : CdiState::Off;
}

} // namespace

RuntimeConfig crio_config(const std::vector<Json>& files, const std::optional<RuntimeVersion>& version) {
    Json table = Json::object();
    Json runtimes = Json::object();
    for (const Json& file : files) {
        const Json& own = member(member(file, "crio"), "runtime");
        add_tables(runtimes, member(own, "runtimes"));
        add_tables(table, own);
    }
    RuntimeConfig config;
    for (const Json& file : files)
        config.socket = base::string_or(member(member(file, "crio"), "api"), "listen", config.socket);
    // The built-in runtime is always available: crun since 1.31, runc before.
    const std::string built_in = !version ? "" : version->is_at_least(1, 31) ? "crun" : "runc";
    config.default_handler = base::string_or(table, "default_runtime", built_in);
    if (!built_in.empty() && !runtimes.contains(built_in))
        runtimes[built_in] = Json{{"runtime_type", "oci"}};
    const bool systemd = base::string_or(table, "cgroup_manager", "systemd") == "systemd";
    for (const auto& [name, said] : runtimes.items())
        config.handlers.push_back({name, base::string_or(said, "runtime_type", ""),
                                   base::string_or(said, "runtime_path", ""), systemd});
    config.cdi = reads_cdi_by_itself(RuntimeKind::Crio, version);
    config.cdi_spec_dirs = spec_dirs(table, "cdi_spec_dirs");
    return config;
}

RuntimeConfig podman_config(const std::vector<Json>& files, const std::optional<RuntimeVersion>& version) {
    Json table = Json::object();
    Json runtimes = Json::object();
    for (const Json& file : files) {
        const Json& own = member(file, "engine");
        add_tables(runtimes, member(own, "runtimes"));
        add_tables(table, own);
    }
    RuntimeConfig config;
    config.serves_cri = false;
    config.default_handler = base::string_or(table, "runtime", "");
    for (const auto& [name, paths] : runtimes.items())
        config.handlers.push_back(
            {name, "",
             paths.is_array() && !paths.empty() && paths[0].is_string() ? paths[0].get<std::string>() : "",
             std::nullopt});
    config.cdi = reads_cdi_by_itself(RuntimeKind::Podman, version);
    config.cdi_spec_dirs = spec_dirs(table, "cdi_spec_dirs");
    // Podman issue 26569: version 5.5 alone reads only /etc/cdi by default.
    if (version && version->major == 5 && version->minor == 5 && !table.contains("cdi_spec_dirs"))
        config.cdi_spec_dirs = {"/etc/cdi"};
    return config;
}

RuntimeConfig docker_config(const Json& daemon, const std::vector<std::string>& arguments,
                            const std::optional<RuntimeVersion>& version) {
    RuntimeConfig config;
    config.serves_cri = false;
    for (const std::string& host : base::strings_or_empty(daemon, "hosts"))
        if (constexpr std::string_view scheme = "unix://";
            config.socket.empty() && base::starts_with(host, scheme))
            config.socket = host.substr(scheme.size());
    const std::string argument = option_value(arguments, {"--default-runtime"});
    config.default_handler = base::string_or(daemon, "default-runtime", argument.empty() ? "runc" : argument);
    const bool systemd = [&] {
        const auto options = base::strings_or_empty(daemon, "exec-opts");
        return std::find(options.begin(), options.end(), "native.cgroupdriver=systemd") != options.end();
    }();
    Json runtimes = member(daemon, "runtimes");
    if (!runtimes.is_object())
        runtimes = Json::object();
    if (!runtimes.contains("runc"))
        runtimes["runc"] = Json::object(); // built in
    for (const auto& [name, said] : runtimes.items())
        config.handlers.push_back({name, base::string_or(said, "runtimeType", ""),
                                   base::string_or(said, "path", ""),
                                   systemd ? std::optional(true) : std::nullopt});
    config.cdi = docker_cdi(daemon, arguments, version);
    config.cdi_spec_dirs = spec_dirs(daemon, "cdi-spec-dirs");
    if (auto directories = option_values(arguments, "--cdi-spec-dir"); !directories.empty())
        config.cdi_spec_dirs = std::move(directories);
    return config;
}

} // namespace gpuhost::runtime
