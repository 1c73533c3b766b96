// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/use.hpp"

#include "daemon/base/file_users.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/runtime_record.hpp"
#include "daemon/runtime/toolkit/store.hpp"

#include <array>
#include <set>

#include <unistd.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using base::Root;

namespace {

/// Directories of containerd's tasks, for each containerd that a host may have. NAMESPACE/CONTAINER/ below
/// them has the parameters of a shim.
constexpr std::array task_directories{
    "/run/containerd/io.containerd.runtime.v2.task",
    "/run/docker/containerd/daemon/io.containerd.runtime.v2.task",
    "/run/k3s/containerd/io.containerd.runtime.v2.task", "/run/k0s/containerd/io.containerd.runtime.v2.task",
    "/var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task"};
/// Files of a task. options.json and runtime name the program that the shim runs. config.json names the hooks
/// that run when the container ends.
constexpr std::array task_files{"options.json", "runtime", "config.json"};
constexpr std::size_t task_file_limit = std::size_t{8} << 20U;
constexpr std::size_t command_limit = std::size_t{1} << 20U;

std::vector<std::string> names(const Root& root, const std::string& path) {
    return root.list(path).value_or(std::vector<std::string>());
}

bool is_named_in(const Root& root, const std::string& file, std::size_t limit, const std::string& path) {
    const auto text = root.read(file, limit);
    if (!text)
        return text.error().code != Errc::NotFound; // an unreadable file may contain the path
    return text->find(path) != std::string::npos;
}

void find_tasks(const Root& root, const std::string& path, std::vector<std::string>& users) {
    for (const std::string directory : task_directories)
        for (const std::string& space : names(root, directory))
            for (const std::string& task : names(root, directory + "/" + space))
                for (const char* file : task_files)
                    if (is_named_in(root, directory + "/" + space + "/" + task + "/" + file, task_file_limit,
                                    path)) {
                        users.push_back("container " + space + "/" + task + " was started with it");
                        break;
                    }
}

/// Finds conmon processes whose command line contains `path`. CRI-O and Podman start one conmon for each
/// container.
void find_commands(const Root& root, const std::string& path, std::vector<std::string>& users) {
    for (const std::string& name : names(root, "/proc")) {
        const auto pid = base::parse_uint(name);
        const std::string process = "/proc/" + name;
        if (!pid || static_cast<pid_t>(*pid) == ::getpid() ||
            root.read_line(process + "/comm").value_or("") != "conmon")
            continue;
        if (is_named_in(root, process + "/cmdline", command_limit, path))
            users.push_back("process " + name + " (conmon) waits for a container that was started with it");
    }
}

} // namespace

std::vector<std::string> containers_of(const Root& root, const std::string& path) {
    std::vector<std::string> users;
    find_tasks(root, path + "/", users);
    find_commands(root, path + "/", users);
    return users;
}

std::vector<std::string> runtimes_of(const Root& root, const std::string& path) {
    std::vector<std::string> users;
    const RuntimeRecord record = read_runtime_record(root).value_or(RuntimeRecord());
    for (const auto& [name, recorded] : record.runtimes) {
        if (awaits_restart(root, recorded))
            users.push_back(name + " has not been restarted since its configuration changed");
        for (const auto& [file, known] : recorded.files)
            if (is_named_in(root, file, task_file_limit, path + "/"))
                users.push_back(file + " refers to it");
    }
    return users;
}

std::vector<std::string> users_of_link(const Root& root) {
    const std::string path(toolkit_current);
    std::vector<std::string> users = runtimes_of(root, path);
    const auto containers = containers_of(root, path);
    users.insert(users.end(), containers.begin(), containers.end());
    return users;
}

Result<std::vector<std::string>> toolkit_users(const Root& root, const std::string& directory) {
    std::vector<std::string> users = containers_of(root, directory);
    GPUHOST_TRY(processes, base::find_file_users(root, directory, "/toolkit/"));
    for (const base::FileUser& user : processes)
        users.push_back("process " + std::to_string(user.pid) + " uses " + user.file);
    return users;
}

} // namespace gpuhost::runtime
