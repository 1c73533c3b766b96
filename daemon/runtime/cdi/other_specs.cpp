// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/other_specs.hpp"

#include "daemon/runtime/cdi/spec.hpp"

namespace gpuhost::runtime {

bool speaks_of(std::string_view text, std::string_view kind) {
    constexpr std::string_view key = "kind";
    for (auto at = text.find(kind); at != std::string_view::npos; at = text.find(kind, at + 1)) {
        const std::string_view before = text.substr(0, at);
        const auto word = before.rfind(key);
        const bool is_value =
            word != std::string_view::npos &&
            before.find_first_not_of("\"': \t", word + key.size()) == std::string_view::npos;
        const auto end = at + kind.size();
        if (is_value && (end == text.size() || text.find_first_of("\"' \t\r\n,}#", end) == end))
            return true;
    }
    return false;
}

std::vector<std::string> other_specs(const base::Root& host, const std::string& directory,
                                     const std::set<std::string_view>& own,
                                     const std::vector<std::string>& kinds) {
    std::vector<std::string> found;
    for (const std::string& name : host.list(directory).value_or(std::vector<std::string>())) {
        if (!is_spec_file(name) || own.count(name) != 0)
            continue;
        const std::string path = directory + "/" + name;
        const std::string text = host.read(path).value_or(std::string());
        for (const std::string& kind : kinds)
            if (speaks_of(text, kind))
                found.push_back(path + " also has devices of " + kind +
                                ": a device with the same name in both files is not available to containers. "
                                "Remove the file; 'gpuhostctl cdi list' shows the names");
    }
    return found;
}

} // namespace gpuhost::runtime
