// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/graph.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::kmod {
namespace {

/// Moves items from `left` to the result. Always moves the first item for which `ready` returns true. Items
/// that remain in `left` are part of a cycle, or depend on one.
template <class T, class Ready>
std::vector<T> visit_in_order(std::vector<T>& left, Ready ready) {
    std::vector<T> taken;
    for (;;) {
        const auto next = std::find_if(left.begin(), left.end(), ready);
        if (next == left.end())
            return taken;
        taken.push_back(std::move(*next));
        left.erase(next);
    }
}

template <class T>
bool names_one_of(const std::vector<std::string>& names, const std::vector<T>& items) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return std::any_of(items.begin(), items.end(), [&](const T& item) { return item.name == name; });
    });
}

} // namespace

bool is_as_wanted(const LoadedModule& loaded, const ModuleGoal& goal) {
    const auto same = std::find_if(goal.modules.begin(), goal.modules.end(),
                                   [&](const GoalModule& wanted) { return wanted.name == loaded.name; });
    return same != goal.modules.end() && (same->version.empty() || same->version == loaded.version) &&
           (same->srcversion.empty() || same->srcversion == loaded.srcversion);
}

std::vector<LoadedModule> unload_order(const std::vector<LoadedModule>& loaded) {
    std::vector<LoadedModule> left = loaded;
    std::vector<LoadedModule> order =
        visit_in_order(left, [&](const LoadedModule& module) { return !names_one_of(module.holders, left); });
    // The kernel has no cycles. If sysfs shows one, its modules are added at the end, so that an attempt to
    // unload them gives an error.
    order.insert(order.end(), left.begin(), left.end());
    return order;
}

std::vector<LoadedModule> to_unload(const std::vector<LoadedModule>& loaded, const ModuleGoal& goal) {
    std::set<std::string> going;
    const auto mark = [&](const LoadedModule& module, auto&& self) -> void {
        if (!going.insert(module.name).second)
            return;
        for (const LoadedModule& other : loaded)
            if (std::find(module.holders.begin(), module.holders.end(), other.name) != module.holders.end())
                self(other, self);
    };
    for (const LoadedModule& module : loaded)
        if (!is_as_wanted(module, goal))
            mark(module, mark);
    std::vector<LoadedModule> order = unload_order(loaded);
    order.erase(std::remove_if(order.begin(), order.end(),
                               [&](const LoadedModule& module) { return going.count(module.name) == 0; }),
                order.end());
    return order;
}

base::Result<std::vector<GoalModule>> load_order(const std::vector<GoalModule>& modules) {
    std::vector<GoalModule> left = modules;
    std::vector<GoalModule> order =
        visit_in_order(left, [&](const GoalModule& module) { return !names_one_of(module.depends, left); });
    if (!left.empty())
        return base::fail(base::Errc::BadContent, "module '" + left.front().name + "' depends on itself");
    return order;
}

std::vector<std::string> outside_dependencies(const std::vector<GoalModule>& modules) {
    std::vector<std::string> names;
    for (const GoalModule& module : modules)
        for (const std::string& name : module.depends)
            if (!names_one_of({name}, modules) && std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
    return names;
}

bool lacks(const std::vector<LoadedModule>& loaded, const ModuleGoal& goal) {
    return std::any_of(goal.modules.begin(), goal.modules.end(), [&](const GoalModule& wanted) {
        return !wanted.optional && std::none_of(loaded.begin(), loaded.end(), [&](const auto& module) {
            return module.name == wanted.name && module.state == "live";
        });
    });
}

} // namespace gpuhost::kmod
