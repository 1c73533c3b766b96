// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/goal.hpp"

#include "daemon/base/json.hpp"
#include "kmod/module/kernel_state.hpp"

namespace gpuhost::kmod {

base::Json to_json(const ModuleGoal& goal) {
    base::Json modules = base::Json::array();
    for (const GoalModule& module : goal.modules)
        modules.push_back({{"name", module.name},
                           {"path", module.path},
                           {"version", module.version},
                           {"srcversion", module.srcversion},
                           {"depends", module.depends},
                           {"parameters", module.parameters},
                           {"optional", module.optional}});
    return {{"version", goal.version}, {"modules", std::move(modules)}};
}

ModuleGoal goal_from_json(const base::Json& value) {
    ModuleGoal goal;
    goal.version = base::string_or(value, "version", "");
    for (const base::Json& item : base::member(value, "modules"))
        goal.modules.push_back({base::string_or(item, "name", ""), base::string_or(item, "path", ""),
                                base::string_or(item, "version", ""), base::string_or(item, "srcversion", ""),
                                base::strings_or_empty(item, "depends"),
                                base::string_or(item, "parameters", ""),
                                base::bool_or(item, "optional", false)});
    return goal;
}

std::map<std::string, std::string> split_parameters(const std::vector<std::string>& words) {
    std::map<std::string, std::string> parameters;
    for (const std::string& word : words) {
        const auto dot = word.find('.');
        if (dot == 0 || dot == std::string::npos || dot + 1 == word.size())
            continue;
        std::string& text = parameters[module_name(word.substr(0, dot))];
        text += (text.empty() ? "" : " ") + word.substr(dot + 1);
    }
    return parameters;
}

} // namespace gpuhost::kmod
