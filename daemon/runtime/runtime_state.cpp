// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/runtime_state.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/containerd_merge.hpp"
#include "daemon/runtime/runtime_find.hpp"

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Root;

namespace {

std::vector<Json> contents_of(const std::vector<ConfigFile>& files) {
    std::vector<Json> contents;
    for (const ConfigFile& file : files)
        if (file.exists && file.problem.empty())
            contents.push_back(file.content);
    return contents;
}

/// The first file may be absent; a runtime then has its defaults.
ConfigFile read_first(const Root& root, const std::string& path) {
    ConfigFile file = read_config_file(root, path);
    if (!file.exists)
        file.problem.clear();
    return file;
}

/// Files of a directory with this ending, by name.
void add_directory(const Root& root, const std::string& directory, std::string_view ending,
                   std::vector<ConfigFile>& files) {
    for (const std::string& name : root.list(directory).value_or(std::vector<std::string>()))
        if (base::ends_with(name, ending) && !base::starts_with(name, "."))
            files.push_back(read_config_file(root, directory + "/" + name));
}

ConfigFile read_daemon_json(const Root& root, const std::string& path) {
    ConfigFile file;
    file.path = path;
    const auto text = root.read(path);
    file.exists = text || text.error().code != Errc::NotFound;
    auto content = text ? base::parse_json(*text, path) : base::fail(text.error());
    if (content && content->is_object())
        file.content = std::move(*content);
    else if (file.exists)
        file.problem = content ? path + ": is no JSON object" : content.error().message;
    return file;
}

std::vector<ConfigFile> read_files(const Root& root, const RuntimeInstance& instance) {
    if (is_containerd(instance.kind))
        return read_containerd_files(root, instance.config,
                                     instance.version && !instance.version->is_at_least(1, 7));
    if (instance.kind == RuntimeKind::Docker)
        return {read_daemon_json(root, instance.config)};
    if (instance.kind == RuntimeKind::Crio) {
        std::vector<ConfigFile> files{read_first(root, instance.config)};
        add_directory(root, instance.config_directory, "", files);
        return files;
    }
    std::vector<ConfigFile> files{read_first(root, "/usr/share/containers/containers.conf"),
                                  read_first(root, instance.config)};
    add_directory(root, instance.config + ".d", ".conf", files);
    return files;
}

RuntimeConfig config_of(const RuntimeInstance& instance, const std::vector<ConfigFile>& files) {
    const std::vector<Json> contents = contents_of(files);
    switch (instance.kind) {
    case RuntimeKind::Docker:
        return docker_config(contents.empty() ? Json::object() : contents.front(), instance.arguments,
                             instance.version);
    case RuntimeKind::Crio:
        return crio_config(contents, instance.version);
    case RuntimeKind::Podman:
        return podman_config(contents, instance.version);
    default:
        return containerd_config(contents, instance.version);
    }
}

} // namespace

RuntimeState read_runtime(const Root& root, RuntimeInstance instance) {
    RuntimeState state{std::move(instance), {}, {}};
    if (!state.instance.version && !state.instance.executable.empty())
        state.instance.version = ask_version(root, state.instance.executable);
    state.files = read_files(root, state.instance);
    state.config = config_of(state.instance, state.files);
    for (const ConfigFile& file : state.files)
        if (!file.problem.empty())
            state.config.problems.push_back(file.problem);
    return state;
}

std::vector<RuntimeState> read_runtimes(const Root& root) {
    std::vector<RuntimeState> states;
    for (RuntimeInstance& instance : find_runtimes(root))
        states.push_back(read_runtime(root, std::move(instance)));
    return states;
}

base::Result<RuntimeState> read_runtime_named(const Root& root, const std::string& name) {
    for (RuntimeInstance& instance : find_runtimes(root))
        if (instance.name == name)
            return read_runtime(root, std::move(instance));
    return base::fail(Errc::NotFound, "no container runtime '" + name + "' is here",
                      "'gpuhostctl runtime show' names those that are.");
}

} // namespace gpuhost::runtime
