// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/runtime_busy.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/runtime_find.hpp"
#include "daemon/runtime/runtime_processes.hpp"

#include <algorithm>

namespace gpuhost::runtime {

namespace {

constexpr std::string_view docker_space = "moby"; ///< its namespace in containerd

bool restores_live(const RuntimeState& state) {
    const auto& arguments = state.instance.arguments;
    for (const std::string& argument : arguments)
        if (argument == "--live-restore" || argument == "--live-restore=true")
            return true;
    return base::bool_or(state.files.front().content, "live-restore", false);
}

std::string harm_of_dockers(const base::Root& root, const RuntimeState& docker) {
    if (restores_live(docker))
        return {};
    const std::size_t count = count_shims(root, docker_space);
    if (count == 0)
        return {};
    return (count == 1 ? "a container runs" : std::to_string(count) + " containers run") +
           std::string(", and ends with Docker, since live-restore is off");
}

} // namespace

std::string harm_of_restart(const base::Root& root, const RuntimeState& state) {
    if (state.instance.kind == RuntimeKind::Docker)
        return harm_of_dockers(root, state);
    if (state.instance.unit.empty())
        return {};
    for (const RuntimeInstance& other : find_runtimes(root)) {
        const auto& units = other.bound_to;
        if (other.kind != RuntimeKind::Docker || other.pid == 0 ||
            std::find(units.begin(), units.end(), state.instance.unit) == units.end())
            continue;
        if (std::string harm = harm_of_dockers(root, read_runtime(root, other)); !harm.empty())
            return other.unit + " is restarted with it, " + harm;
    }
    return {};
}

} // namespace gpuhost::runtime
