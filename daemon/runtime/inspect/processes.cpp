// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/processes.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/programs.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Root;

namespace {

/// Returns true if the process has the host's "/". A container that shares the host's PID namespace has
/// another root. Only root may check it; for other users a process in a service counts as the host's.
bool has_root_of_host(const Root& root, const std::string& directory, const std::string& unit) {
    const auto host = root.stat("/");
    const auto own = root.stat(directory + "/root");
    if (!own && own.error().code == base::Errc::AccessDenied)
        return !unit.empty();
    return host && own && host->st_dev == own->st_dev && host->st_ino == own->st_ino;
}

/// Returns true if the process runs as root and in this PID namespace. `status` is /proc/PID/status, which
/// everybody may read.
bool is_of_host(std::string_view status) {
    bool of_root = false;
    bool of_host = true;
    for (const std::string& line : base::split(status, '\n')) {
        const std::vector<std::string> words = base::split_words(line);
        if (words.size() > 1 && words[0] == "Uid:")
            of_root = words[1] == "0";
        if (!words.empty() && words[0] == "NSpid:")
            of_host = words.size() == 2;
    }
    return of_root && of_host;
}

std::vector<std::string> words_of(std::string_view cmdline) {
    std::vector<std::string> words = base::split(cmdline, '\0');
    if (!words.empty() && words.back().empty())
        words.pop_back(); // the last word ends with a NUL too
    return words;
}

/// Returns all processes ordered by PID. Only their PIDs and commands are set.
std::vector<RuntimeProcess> read_commands(const Root& root) {
    std::vector<RuntimeProcess> processes;
    for (const std::string& name : root.list("/proc").value_or(std::vector<std::string>()))
        if (const auto pid = base::parse_uint(name))
            processes.push_back(
                {*pid, "", "", words_of(root.read("/proc/" + name + "/cmdline").value_or(std::string()))});
    std::sort(processes.begin(), processes.end(),
              [](const RuntimeProcess& a, const RuntimeProcess& b) { return a.pid < b.pid; });
    return processes;
}

bool is_shim(const RuntimeProcess& process) {
    const std::string program = process.command.empty() ? "" : process.command.front();
    return base::starts_with(program.substr(program.rfind('/') + 1), "containerd-shim");
}

} // namespace

std::string service_of_cgroup(std::string_view text) {
    for (const std::string& line : base::split(text, '\n'))
        for (const std::string& part : base::split(line, '/'))
            if (base::ends_with(part, ".service"))
                return part;
    return {};
}

std::size_t count_shims_in(const Root& root, const std::string& unit) {
    const auto processes = read_commands(root);
    return static_cast<std::size_t>(
        std::count_if(processes.begin(), processes.end(), [&](const RuntimeProcess& process) {
            const std::string cgroup = "/proc/" + std::to_string(process.pid) + "/cgroup";
            return is_shim(process) && service_of_cgroup(root.read(cgroup).value_or(std::string())) == unit;
        }));
}

std::size_t count_shims(const Root& root, std::string_view space) {
    const auto processes = read_commands(root);
    return static_cast<std::size_t>(
        std::count_if(processes.begin(), processes.end(), [&](const RuntimeProcess& process) {
            return is_shim(process) && option_value(process.command, {"-namespace", "--namespace"}) == space;
        }));
}

std::vector<RuntimeProcess> read_runtime_processes(const Root& root) {
    std::vector<RuntimeProcess> processes;
    for (RuntimeProcess& process : read_commands(root)) {
        const std::string directory = "/proc/" + std::to_string(process.pid);
        if (!program_of(process.command) ||
            !is_of_host(root.read(directory + "/status").value_or(std::string())))
            continue;
        process.unit = service_of_cgroup(root.read(directory + "/cgroup").value_or(std::string()));
        if (!has_root_of_host(root, directory, process.unit))
            continue;
        process.executable = root.read_link(directory + "/exe").value_or(std::string());
        processes.push_back(std::move(process));
    }
    return processes;
}

} // namespace gpuhost::runtime
