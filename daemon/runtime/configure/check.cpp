// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/check.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/containerd_merge.hpp"
#include "daemon/runtime/inspect/files.hpp"
#include "daemon/runtime/inspect/trusted_program.hpp"
#include "daemon/runtime/toml/toml.hpp"
#include "daemon/runtime/toml/toml_edit.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::member;
using base::Result;
using base::Root;

namespace {

constexpr std::chrono::seconds answer_time{20};
constexpr mode_t secret = 0600; ///< Docker's and CRI-O's files may contain credentials

/// Runs the program and returns its stdout.
Result<std::string> ask(const Root& root, const std::vector<std::string>& argv, const std::string& what) {
    GPUHOST_TRY(answer, run_trusted(root, argv, answer_time, true));
    if (answer.timed_out)
        return base::fail(Errc::Timeout, argv.front() + ": timed out while it loaded " + what);
    if (answer.exit_status == 0)
        return std::move(answer.output);
    const auto again = run_trusted(root, argv, answer_time); // this run includes stderr, which has the reason
    return base::fail(Errc::Refused, argv.front() + " can't load " + what + ": " +
                                         base::last_line(again ? again->output : ""));
}

// --- containerd

Result<Json> containerd_dump(const Root& root, const RuntimeState& state, const std::string& config,
                             const std::string& what) {
    GPUHOST_TRY(output, ask(root, {state.instance.executable, "--config", config, "config", "dump"}, what));
    return parse_toml(output, state.instance.executable + " config dump");
}

Result<Json> live_containerd(const Root& root, const RuntimeState& state) {
    return containerd_dump(root, state, root.host_path(state.instance.config), "its configuration");
}

/// Returns the effective configuration of a minimal main file. It stands in for a missing configuration file,
/// for which containerd 1.6 prints nothing.
Result<Json> default_containerd(const Root& root, const RuntimeState& state, const RuntimeChange& change,
                                const std::string& staging) {
    const std::string path = staging + "/default.toml";
    const unsigned version = config_version(change.after.files.front().content);
    GPUHOST_CHECK(root.make_directories(staging, 0700));
    GPUHOST_CHECK(root.write_atomic(path, "version = " + std::to_string(version) + "\n", secret));
    return containerd_dump(root, state, root.host_path(path), "a minimal configuration");
}

/// Writes a main file and the changed files into the staging directory. The main file imports every file by
/// its own path; for a changed file, this is the path in the staging directory. containerd then loads the
/// same files as on the live system, although patterns and relative paths would resolve differently.
Result<std::string> stage_containerd(const Root& root, const RuntimeChange& change,
                                     const std::string& staging) {
    std::set<std::string> staged;
    const auto place = [&](const std::string& path) { return staging + path; };
    const std::string& main = change.after.instance.config;
    std::string main_text = root.read(main).value_or(std::string());
    for (const FileChange& file : change.files) {
        if (file.path == main)
            main_text = file.after.value_or("");
        else if (file.after) {
            GPUHOST_CHECK(
                root.make_directories(place(file.path).substr(0, place(file.path).rfind('/')), 0700));
            GPUHOST_CHECK(root.write_atomic(place(file.path), *file.after, secret));
            staged.insert(file.path);
        }
    }
    std::vector<std::string> imports;
    for (auto file = change.after.files.begin() + 1; file != change.after.files.end(); ++file)
        imports.push_back(root.host_path(staged.contains(file->path) ? place(file->path) : file->path));
    GPUHOST_TRY(text, with_imports(main_text, imports, main));
    GPUHOST_CHECK(root.make_directories(staging, 0700));
    GPUHOST_CHECK(root.write_atomic(staging + "/config.toml", text, secret));
    return staging + "/config.toml";
}

/// Returns the effective configuration without gpuhost's drop-in: the drop-in may repeat outdated values of
/// the main file.
Result<Json> bare_containerd(const Root& root, const RuntimeState& state, const std::string& staging) {
    RuntimeChange nothing;
    nothing.after = without_ours(state);
    GPUHOST_TRY(path, stage_containerd(root, nothing, staging));
    return containerd_dump(root, state, root.host_path(path), "its configuration");
}

/// Removes all that gpuhost may change from a configuration, so that callers can compare the rest.
void erase_ours(Json& document, const DesiredConfig& desired, const RuntimeState& state) {
    document.erase("imports");
    document.erase("version"); // containerd 1.x prints the version of the main file
    for (const unsigned version : {1U, 2U, 3U}) {
        Json& plugins = document["plugins"];
        if (const auto images = plugins.find(cri_images_plugin(version));
            images != plugins.end() && member(*images, "registry").is_object())
            (*images)["registry"].erase("config_path");
        const std::string key = cri_plugin(version);
        if (!plugins.contains(key) || !plugins[key].is_object())
            continue;
        Json& cri = plugins[key];
        cri.erase("enable_cdi");
        cri.erase("cdi_spec_dirs");
        if (!cri.contains("containerd") || !cri["containerd"].is_object())
            continue;
        cri["containerd"].erase("default_runtime_name");
        if (!desired.default_class.empty())
            cri["containerd"].erase(old_default_table);
        if (!cri["containerd"].contains("runtimes"))
            continue;
        Json& runtimes = cri["containerd"]["runtimes"];
        for (const RuntimeClass& one : desired.classes)
            runtimes.erase(one.name);
        for (const RuntimeHandler& one : state.config.handlers) // classes that are no longer desired
            if (base::starts_with(one.name, "nvidia"))
                runtimes.erase(one.name);
    }
}

/// Returns the place of the first difference, as in "plugins.X.y"; empty if the documents are equal.
std::string first_difference(const Json& a, const Json& b) {
    if (a == b)
        return "";
    if (!a.is_object() || !b.is_object())
        return "its value";
    for (const Json* one : {&a, &b})
        for (const auto& [key, value] : one->items())
            if (member(a, key) != member(b, key)) {
                const std::string below = first_difference(member(a, key), member(b, key));
                return key + (below == "its value" ? "" : "." + below);
            }
    return "its value";
}

Result<void> check_containerd(const Root& root, const RuntimeState& state, const RuntimeChange& change,
                              const DesiredConfig& desired, const std::string& staging) {
    GPUHOST_TRY(before, state.files.front().exists ? bare_containerd(root, state, staging + "/bare")
                                                   : default_containerd(root, state, change, staging));
    GPUHOST_TRY(path, stage_containerd(root, change, staging));
    GPUHOST_TRY(after, containerd_dump(root, state, root.host_path(path), "the new configuration"));
    const RuntimeConfig made = containerd_config({after}, state.instance.version);
    if (const auto left = lacking(made, desired); !left.empty())
        return base::fail(Errc::Refused,
                          "containerd would not apply the desired configuration: " + base::join(left, ", "));
    erase_ours(before, desired, state);
    erase_ours(after, desired, state);
    if (const std::string where = first_difference(before, after); !where.empty())
        return base::fail(Errc::Refused,
                          "the change would also affect '" + where + "' in containerd's configuration");
    return {};
}

// --- CRI-O

Result<void> copy_drop_ins(const Root& root, const RuntimeState& state, const std::string& directory) {
    const std::string& own = state.instance.config_directory;
    GPUHOST_CHECK(root.make_directories(directory, 0700));
    for (const ConfigFile& file : state.files) {
        if (!base::starts_with(file.path, own + "/"))
            continue;
        GPUHOST_TRY(text, root.read(file.path));
        std::string flat = file.path.substr(own.size() + 1);
        GPUHOST_CHECK(root.make_directories(
            (directory + "/" + flat).substr(0, (directory + "/" + flat).rfind('/')), 0700));
        GPUHOST_CHECK(root.write_atomic(directory + "/" + flat, text, secret));
    }
    return {};
}

Result<void> check_crio(const Root& root, const RuntimeState& state, const RuntimeChange& change,
                        const DesiredConfig& desired, const std::string& staging) {
    const std::string directory = staging + "/crio.conf.d";
    const std::string main = staging + "/crio.conf";
    GPUHOST_CHECK(copy_drop_ins(root, state, directory));
    GPUHOST_CHECK(root.write_atomic(main, root.read(state.instance.config).value_or(std::string()), secret));
    for (const FileChange& file : change.files) {
        const std::string staged = directory + file.path.substr(file.path.rfind('/'));
        GPUHOST_CHECK(file.after ? root.write_atomic(staged, *file.after, secret) : root.remove(staged));
    }
    GPUHOST_TRY(output, ask(root,
                            {state.instance.executable, "--config", root.host_path(main), "--config-dir",
                             root.host_path(directory), "config"},
                            "the new configuration"));
    GPUHOST_TRY(document, parse_toml(output, state.instance.executable + " config"));
    if (const auto left = lacking(crio_config({document}, state.instance.version), desired); !left.empty())
        return base::fail(Errc::Refused,
                          "CRI-O would not apply the desired configuration: " + base::join(left, ", "));
    return {};
}

// --- Docker

/// Returns dockerd's options without --config-file. dockerd exits if an option and the file set the same key.
std::vector<std::string> docker_arguments(const RuntimeInstance& instance) {
    std::vector<std::string> words;
    for (std::size_t i = 1; i < instance.arguments.size(); ++i)
        if (const std::string& word = instance.arguments[i]; word == "--config-file")
            ++i;
        else if (!base::starts_with(word, "--config-file=") && !base::starts_with(word, "$"))
            words.push_back(word);
    return words;
}

Result<void> validate_docker(const Root& root, const RuntimeState& state, const std::string& path,
                             const std::string& what) {
    if (!state.instance.version || !state.instance.version->is_at_least(23, 0))
        return {}; // before 23.0, dockerd lacks --validate
    std::vector<std::string> argv{state.instance.executable, "--validate", "--config-file",
                                  root.host_path(path)};
    const auto arguments = docker_arguments(state.instance);
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    GPUHOST_CHECK(ask(root, argv, what));
    return {};
}

Result<void> check_docker(const Root& root, const RuntimeState& state, const RuntimeChange& change,
                          const std::string& staging) {
    GPUHOST_CHECK(root.make_directories(staging, 0700));
    const std::string path = staging + "/daemon.json";
    GPUHOST_CHECK(root.write_atomic(path, change.files.front().after.value_or("{}\n"), secret));
    return validate_docker(root, state, path, "the new configuration");
}

} // namespace

Result<void> check_staged(const Root& root, const RuntimeState& state, const RuntimeChange& change,
                          const DesiredConfig& desired, const std::string& staging) {
    if (state.instance.executable.empty())
        return base::fail(Errc::NotFound,
                          "its program is not known, so the change can't be checked before it takes effect");
    switch (state.instance.kind) {
    case RuntimeKind::Docker:
        return check_docker(root, state, change, staging);
    case RuntimeKind::Crio:
        return check_crio(root, state, change, desired, staging);
    default:
        return check_containerd(root, state, change, desired, staging);
    }
}

Result<void> check_live(const Root& root, const RuntimeState& state) {
    const RuntimeInstance& instance = state.instance;
    if (instance.kind == RuntimeKind::Docker && state.files.front().exists)
        return validate_docker(root, state, instance.config, "its configuration");
    if (instance.kind == RuntimeKind::Crio) {
        std::vector<std::string> argv{instance.executable};
        if (state.files.front().exists)
            argv.insert(argv.end(), {"--config", root.host_path(instance.config)});
        argv.insert(argv.end(), {"--config-dir", root.host_path(instance.config_directory), "config"});
        GPUHOST_CHECK(ask(root, argv, "its configuration"));
        return {};
    }
    if (is_containerd(instance.kind) && state.files.front().exists)
        GPUHOST_CHECK(live_containerd(root, state));
    return {};
}

} // namespace gpuhost::runtime
