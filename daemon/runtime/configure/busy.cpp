// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/busy.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/find.hpp"
#include "daemon/runtime/inspect/processes.hpp"
#include "daemon/runtime/inspect/runtime_record.hpp"
#include "daemon/runtime/inspect/trusted_program.hpp"

#include <algorithm>
#include <chrono>

#include <unistd.h>

namespace gpuhost::runtime {

namespace {

constexpr std::string_view docker_space = "moby"; ///< containerd's namespace for Docker

constexpr std::chrono::seconds answer_time{5};

/// Returns `LiveRestoreEnabled` of `docker info`; nullopt without a Docker client or an answer.
std::optional<bool> ask_live_restore(const base::Root& root, const std::string& socket) {
    for (const char* client : {"/usr/bin/docker", "/usr/local/bin/docker"}) {
        if (socket.empty() || !root.exists(client))
            continue;
        const auto answer = run_trusted(
            root, {client, "--host", "unix://" + socket, "info", "--format", "{{.LiveRestoreEnabled}}"},
            answer_time, true);
        if (answer && !answer->timed_out && answer->exit_status == 0)
            return base::trim(answer->output) == "true";
    }
    return std::nullopt;
}

/// Returns the start of a process in seconds since 1970; nullopt if it is not known.
std::optional<std::uint64_t> start_of(const base::Root& root, std::uint64_t pid) {
    const auto process = stamp_process(root, pid);
    const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    for (const std::string& line : base::split(root.read("/proc/stat").value_or(std::string()), '\n'))
        if (const auto words = base::split_words(line); words.size() == 2 && words[0] == "btime")
            if (const auto boot = base::parse_uint(words[1]); boot && process && ticks != 0)
                return *boot + process->started / ticks;
    return std::nullopt;
}

/// Returns true if containers survive a restart of dockerd. dockerd applies a change of daemon.json only at a
/// start or reload, so dockerd is asked first. Without an answer, the value in daemon.json counts only if the
/// file is older than the process.
bool restores_live(const base::Root& root, const RuntimeState& state) {
    const auto& arguments = state.instance.arguments;
    for (const std::string& argument : arguments)
        if (argument == "--live-restore" || argument == "--live-restore=true")
            return true;
    const ConfigFile& file = state.files.front();
    if (!base::bool_or(file.content, "live-restore", false))
        return false;
    if (const auto answer = ask_live_restore(root, state.instance.socket))
        return *answer;
    const auto st = root.stat(file.path);
    const auto start = start_of(root, state.instance.pid);
    return st && start && static_cast<std::uint64_t>(st->st_mtim.tv_sec) < *start;
}

std::string containers(std::size_t count) {
    return count == 1 ? "a container runs" : std::to_string(count) + " containers run";
}

std::string harm_of_dockers(const base::Root& root, const RuntimeState& docker) {
    if (restores_live(root, docker))
        return {};
    const std::size_t count = count_shims(root, docker_space);
    if (count == 0)
        return {};
    return containers(count) + " and would stop with Docker, because live-restore is off";
}

/// Returns a phrase about the containers whose shims a restart of the unit would end; empty if none. The
/// units of containerd itself set KillMode=process, so their shims keep running.
std::string harm_of_unit(const base::Root& root, const RuntimeInstance& instance) {
    if (!is_containerd(instance.kind) || instance.kill_mode == "process" || instance.kill_mode == "none")
        return {};
    const std::size_t count = count_shims_in(root, instance.unit);
    return count == 0 ? ""
                      : containers(count) + " in " + instance.unit +
                            ", whose restart kills all of its processes: add KillMode=process to the unit";
}

} // namespace

std::string harm_of_restart(const base::Root& root, const RuntimeState& state) {
    if (state.instance.kind == RuntimeKind::Docker)
        return harm_of_dockers(root, state);
    if (state.instance.unit.empty())
        return {};
    if (std::string harm = harm_of_unit(root, state.instance); !harm.empty())
        return harm;
    for (const RuntimeInstance& other : find_runtimes(root)) {
        const auto& units = other.bound_to;
        if (other.kind != RuntimeKind::Docker || other.pid == 0 ||
            std::find(units.begin(), units.end(), state.instance.unit) == units.end())
            continue;
        if (std::string harm = harm_of_dockers(root, read_runtime(root, other)); !harm.empty())
            return other.unit + " would restart too: " + harm;
    }
    return {};
}

} // namespace gpuhost::runtime
