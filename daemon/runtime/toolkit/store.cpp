// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/store.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Json;
using base::Root;

namespace {

std::vector<std::string> names(const Root& root, const std::string& path) {
    return root.list(path).value_or(std::vector<std::string>());
}

bool is_candidate(std::string_view version) {
    return version.find('~') != std::string_view::npos;
}

void read_version(const Root& root, const std::string& version, ToolkitStore& store) {
    const std::string parent = std::string(toolkit_directory) + "/" + version;
    for (const std::string& digest : names(root, parent)) {
        if (!content::is_sha256(digest))
            continue;
        auto set = read_toolkit(root, parent + "/" + digest);
        if (!set)
            store.problems.push_back(set.error().message);
        else if (set->manifest.version != version)
            store.problems.push_back(parent + "/" + digest + ": is in the directory of another version");
        else
            store.sets.push_back(std::move(*set));
    }
}

Json set_json(const ToolkitSet& set, const std::string& current) {
    std::uint64_t bytes = 0;
    for (const content::TreeFile& file : set.manifest.files)
        bytes += file.size;
    return {{"version", set.manifest.version},
            {"digest", set.digest},
            {"path", set.path},
            {"packages", set.manifest.packages},
            {"programs", set.programs()},
            {"files", set.manifest.files.size()},
            {"bytes", bytes},
            {"selected", set.path == current},
            {"published_us", set.published_us}};
}

} // namespace

const ToolkitSet* ToolkitStore::find(std::string_view version) const {
    const auto fits = [&](const ToolkitSet& set) {
        return version.empty() ? !is_candidate(set.manifest.version) : set.manifest.version == version;
    };
    const auto found = std::find_if(sets.begin(), sets.end(), fits);
    if (found != sets.end())
        return &*found;
    return version.empty() && !sets.empty() ? &sets.front() : nullptr;
}

const ToolkitSet* ToolkitStore::at(std::string_view path) const {
    const auto found =
        std::find_if(sets.begin(), sets.end(), [&](const ToolkitSet& set) { return set.path == path; });
    return found == sets.end() ? nullptr : &*found;
}

ToolkitStore read_toolkit_store(const Root& root) {
    ToolkitStore store;
    for (const std::string& version : names(root, std::string(toolkit_directory)))
        if (base::is_toolkit_version(version))
            read_version(root, version, store);
    std::stable_sort(store.sets.begin(), store.sets.end(), [](const ToolkitSet& a, const ToolkitSet& b) {
        const int order = compare_toolkit_versions(a.manifest.version, b.manifest.version);
        return order != 0 ? order > 0 : a.published_us > b.published_us;
    });
    return store;
}

std::string current_toolkit(const Root& root) {
    const auto target = root.read_link(toolkit_current);
    return target ? std::string(toolkit_directory) + "/" + *target : std::string();
}

std::string link_to_toolkit(const std::string& path) {
    return path.substr(toolkit_directory.size() + 1);
}

int compare_toolkit_versions(std::string_view a, std::string_view b) {
    const auto number = [](std::string_view text) { return text.substr(0, text.find('~')); };
    const auto candidate = [](std::string_view text) { return text.substr(text.rfind('.') + 1); };
    if (const int order = base::compare_numbers(number(a), number(b)); order != 0)
        return order;
    if (is_candidate(a) != is_candidate(b))
        return is_candidate(a) ? -1 : 1;
    return is_candidate(a) ? base::compare_numbers(candidate(a), candidate(b)) : 0;
}

Json to_json(const ToolkitStore& store, const std::string& current) {
    Json sets = Json::array();
    for (const ToolkitSet& set : store.sets)
        sets.push_back(set_json(set, current));
    return {{"toolkits", std::move(sets)}, {"problems", store.problems}};
}

} // namespace gpuhost::runtime
