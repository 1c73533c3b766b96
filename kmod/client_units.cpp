// SPDX-License-Identifier: Apache-2.0
#include "kmod/client_units.hpp"

#include "daemon/base/parse.hpp"

#include <array>
#include <string_view>

namespace gpuhost::kmod {
namespace {

// The unified hierarchy, and systemd's own in the older layouts.
constexpr std::array<std::string_view, 3> hierarchies{"/sys/fs/cgroup/system.slice",
                                                      "/sys/fs/cgroup/unified/system.slice",
                                                      "/sys/fs/cgroup/systemd/system.slice"};

bool has_processes(const base::Root& root, const std::string& group) {
    const auto pids = root.read(group + "/cgroup.procs");
    if (pids && !pids->empty())
        return true;
    // processes may stand in groups below (Delegate=)
    const auto events = root.read(group + "/cgroup.events");
    return events && events->find("populated 1") != std::string::npos;
}

} // namespace

std::vector<std::string> active_units(const base::Root& root, const std::vector<std::string>& units) {
    std::vector<std::string> active;
    for (const std::string& unit : units)
        for (const std::string_view hierarchy : hierarchies)
            if (has_processes(root, std::string(hierarchy) + "/" + unit)) {
                active.push_back(unit);
                break;
            }
    return active;
}

} // namespace gpuhost::kmod
