// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/state.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/cdi_record.hpp"
#include "daemon/runtime/inspect/containerd_merge.hpp"
#include "daemon/runtime/inspect/find.hpp"
#include "daemon/runtime/inspect/profiles.hpp"
#include "daemon/runtime/toml/toml.hpp"

#include <sys/stat.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Root;

namespace {

constexpr std::string_view replaced_text = "its program was replaced since it started: restart it";

/// Sets the problem of a missing file if the file is named on the command line, else clears it.
void judge_absence(const RuntimeInstance& instance, ConfigFile& file) {
    if (file.exists)
        return;
    const std::string_view program = instance.kind == RuntimeKind::Docker ? "dockerd"
                                     : instance.kind == RuntimeKind::Crio ? "crio"
                                                                          : "containerd";
    file.problem = instance.must_have_config
                       ? file.path + ": not found, and " + std::string(program) + " does not start without it"
                       : "";
}

/// Reads a file that may be missing: the runtime then uses its defaults.
ConfigFile read_first(const Root& root, const std::string& path) {
    ConfigFile file = read_config_file(root, path, parse_toml);
    if (!file.exists)
        file.problem.clear();
    return file;
}

constexpr unsigned deepest = 16;

/// Adds all files in a directory and its subdirectories by name, like Go's filepath.Walk. Includes hidden
/// files, and follows no links to directories. Returns false if there are too many files.
bool add_tree(const Root& root, const std::string& directory, unsigned depth,
              std::vector<ConfigFile>& files) {
    const auto names = root.list(directory);
    if (!names) {
        if (names.error().code == Errc::AccessDenied)
            files.push_back(unreadable(directory));
        return true;
    }
    for (const std::string& name : *names) {
        const std::string path = directory + "/" + name;
        const auto st = root.lstat(path);
        const bool is_directory = st && S_ISDIR(st->st_mode);
        if (files.size() >= most_config_files || (is_directory && depth >= deepest)) {
            files.push_back(unread(path, "too many files, the rest is not read"));
            return false;
        }
        if (!is_directory)
            files.push_back(read_config_file(root, path, parse_toml));
        else if (!add_tree(root, path, depth + 1, files))
            return false;
    }
    return true;
}

/// Adds Podman's drop-ins, by name.
void add_drop_ins(const Root& root, const std::string& directory, std::vector<ConfigFile>& files) {
    for (const std::string& name : root.list(directory).value_or(std::vector<std::string>())) {
        const std::string path = directory + "/" + name;
        const auto st = root.lstat(path);
        if (base::ends_with(name, ".conf") && !base::starts_with(name, ".") && st && !S_ISDIR(st->st_mode))
            files.push_back(read_config_file(root, path, parse_toml));
    }
}

std::vector<ConfigFile> read_files(const Root& root, const RuntimeInstance& instance) {
    if (is_containerd(instance.kind))
        return read_containerd_files(root, instance.config,
                                     instance.version && !instance.version->is_at_least(1, 7));
    if (instance.kind == RuntimeKind::Docker)
        return {read_config_file(root, instance.config, parse_json_object)};
    if (instance.kind == RuntimeKind::Crio) {
        std::vector<ConfigFile> files{read_first(root, instance.config)};
        (void)add_tree(root, instance.config_directory, 0, files);
        return files;
    }
    std::vector<ConfigFile> files{read_first(root, "/usr/share/containers/containers.conf"),
                                  read_first(root, instance.config)};
    add_drop_ins(root, instance.config + ".d", files);
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

/// Sets the socket: from the command line, else from the files, else the default of the runtime. Clears the
/// socket if it does not exist.
void find_socket(const Root& root, RuntimeState& state) {
    RuntimeInstance& instance = state.instance;
    const RuntimeProfile& profile = profile_of(instance.name, instance.kind);
    if (instance.socket.empty())
        instance.socket = state.config.socket;
    if (instance.socket.empty() && instance.name == profile.name)
        instance.socket = profile.socket;
    if (!is_socket(root, instance.socket))
        instance.socket.clear();
}

} // namespace

std::vector<Json> contents_of(const std::vector<ConfigFile>& files) {
    std::vector<Json> contents;
    for (const ConfigFile& file : files)
        if (file.exists && file.problem.empty())
            contents.push_back(file.content);
    return contents;
}

RuntimeState configured(RuntimeInstance instance, std::vector<ConfigFile> files) {
    RuntimeState state;
    state.instance = std::move(instance);
    state.files = std::move(files);
    state.config = config_of(state.instance, state.files);
    for (const ConfigFile& file : state.files) {
        state.is_secret = state.is_secret || file.is_secret;
        if (!file.problem.empty() && !file.is_secret)
            state.config.problems.push_back(file.problem);
    }
    if (state.is_secret)
        state.config.cdi = CdiState::Unknown;
    if (state.instance.is_replaced)
        state.config.problems.emplace_back(replaced_text);
    return state;
}

RuntimeState read_runtime(const Root& root, RuntimeInstance instance) {
    if (!instance.version && !instance.executable.empty() && !instance.is_replaced)
        instance.version = ask_version(root, instance.executable);
    std::vector<ConfigFile> files = read_files(root, instance);
    if (instance.kind != RuntimeKind::Podman)
        judge_absence(instance, files.front());
    RuntimeState state = configured(std::move(instance), std::move(files));
    find_socket(root, state);
    if (const auto specs = read_cdi_record(root)) {
        state.spec_version = specs->version;
        if (!specs->directory.empty())
            state.spec_directory = specs->directory;
    }
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
    return base::fail(Errc::NotFound, "container runtime '" + name + "' not found",
                      "List the container runtimes with 'gpuhostctl runtime show'.");
}

} // namespace gpuhost::runtime
