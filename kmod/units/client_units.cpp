// SPDX-License-Identifier: Apache-2.0
#include "kmod/units/client_units.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>

namespace gpuhost::kmod {
namespace {

// The hierarchy of cgroup v2, and those that systemd uses with cgroup v1.
constexpr std::array<std::string_view, 3> hierarchies{"/sys/fs/cgroup", "/sys/fs/cgroup/unified",
                                                      "/sys/fs/cgroup/systemd"};
constexpr unsigned deepest_slice = 8;

bool has_processes(const base::Root& root, const std::string& group) {
    const auto pids = root.read(group + "/cgroup.procs");
    if (pids && !pids->empty())
        return true;
    // With Delegate=, processes may be in groups below that of the unit.
    const auto events = root.read(group + "/cgroup.events");
    return events && events->find("populated 1") != std::string::npos;
}

/// Adds to `active` the units in `units` whose groups are in or below `group` and have processes. Searches
/// all slices, because a unit may be in any slice. Does not search other groups: containers and users'
/// systemd can give their groups any name.
void find_active(const base::Root& root, const std::string& group, unsigned depth,
                 const std::vector<std::string>& units, std::set<std::string>& active) {
    for (const std::string& name : root.list(group).value_or(std::vector<std::string>())) {
        const std::string child = group + "/" + name;
        if (std::find(units.begin(), units.end(), name) != units.end() && has_processes(root, child))
            active.insert(name);
        else if (depth > 0 && base::ends_with(name, ".slice"))
            find_active(root, child, depth - 1, units, active);
    }
}

} // namespace

std::vector<std::string> active_units(const base::Root& root, const std::vector<std::string>& units) {
    std::set<std::string> found;
    for (const std::string_view hierarchy : hierarchies)
        find_active(root, std::string(hierarchy), deepest_slice, units, found);
    std::vector<std::string> active;
    std::copy_if(units.begin(), units.end(), std::back_inserter(active),
                 [&](const std::string& unit) { return found.count(unit) != 0; });
    return active;
}

} // namespace gpuhost::kmod
