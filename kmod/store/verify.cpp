// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_list.hpp"
#include "kmod/store/publish.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using core::StepContext;

namespace {

struct Wanted {
    std::vector<std::string> paths;
    std::uint64_t bytes = 0;
};

Wanted sets_of(const Store& store, const std::vector<std::string>& versions) {
    Wanted wanted;
    for (const DriverVersion& version : store.versions) {
        if (!versions.empty() &&
            std::find(versions.begin(), versions.end(), version.version) == versions.end())
            continue;
        for (const Userland& set : version.userland) {
            wanted.paths.push_back(set.path);
            wanted.bytes += set.bytes;
        }
        for (const ModuleSet& set : version.modules) {
            wanted.paths.push_back(set.path);
            for (const ModuleFile& module : set.modules)
                wanted.bytes += module.size;
        }
        for (const SourceSet& set : version.sources) {
            wanted.paths.push_back(set.path);
            wanted.bytes += set.size;
        }
    }
    return wanted;
}

/// Returns the elements of Store::problems about these versions; all if `versions` is empty.
std::vector<std::string> problems_of(const Store& store, const std::vector<std::string>& versions) {
    std::vector<std::string> problems = store.problems;
    if (!versions.empty())
        std::erase_if(problems, [&](const std::string& problem) {
            return std::none_of(versions.begin(), versions.end(),
                                [&](const std::string& version) { return is_of_version(problem, version); });
        });
    return problems;
}

/// Returns the hints for all damaged paths, each once.
std::string hint_for(const std::vector<std::string>& bad) {
    std::vector<std::string> hints;
    for (const std::string& path : bad) {
        std::string hint = mending_hint(path);
        if (std::find(hints.begin(), hints.end(), hint) == hints.end())
            hints.push_back(std::move(hint));
    }
    return base::join(hints, " ");
}

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(store, read_store(context.root));
    const std::vector<std::string> versions = base::strings_or_empty(args, "versions");
    const Wanted wanted = sets_of(store, versions);
    std::vector<std::string> bad = problems_of(store, versions);
    std::uint64_t done = 0;
    for (const std::string& path : wanted.paths) {
        auto checked = content::check_set(context.root, path, [&](std::uint64_t n) {
            done += n;
            context.progress(static_cast<double>(done) / static_cast<double>(wanted.bytes + 1),
                             "checking " + path);
        });
        if (!checked)
            bad.push_back(checked.error().message);
        else
            for (const std::string& file : *checked)
                bad.push_back(path + "/" + file);
    }
    if (!bad.empty())
        return base::fail(Errc::BadContent, "the driver store is damaged: " + base::join(bad, "; "),
                          hint_for(bad));
    return Json{{"sets", wanted.paths}, {"bytes", done}};
}

} // namespace

core::StepCode store_verify_code() {
    // Needs no verify: apply changes nothing.
    return {.name = "store.verify", .apply = apply};
}

} // namespace gpuhost::kmod
