// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "kmod/manifest.hpp"
#include "kmod/publish.hpp"
#include "kmod/step_kind.hpp"
#include "kmod/store.hpp"

#include <algorithm>

#include <fcntl.h>

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

Result<std::vector<std::string>> check_one(const base::Root& root, const std::string& path,
                                           const content::OnBytes& on_bytes) {
    const std::string file = path + "/" + std::string(manifest_name);
    GPUHOST_TRY(text, root.read(file, manifest_limit));
    GPUHOST_TRY(manifest, decode_manifest(text, file));
    GPUHOST_TRY(directory, root.open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    return check_set(directory.get(), manifest, path, on_bytes);
}

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(store, read_store(context.root));
    const Wanted wanted = sets_of(store, base::strings_or_empty(args, "versions"));
    std::vector<std::string> bad = store.problems;
    std::uint64_t done = 0;
    for (const std::string& path : wanted.paths) {
        auto found = check_one(context.root, path, [&](std::uint64_t n) {
            done += n;
            context.progress(static_cast<double>(done) / static_cast<double>(wanted.bytes + 1),
                             "checking " + path);
        });
        if (!found)
            bad.push_back(found.error().message);
        else
            for (const std::string& file : *found)
                bad.push_back(path + "/" + file);
    }
    if (!bad.empty())
        return base::fail(Errc::BadContent, "the driver store is damaged: " + base::join(bad, "; "),
                          "Import the version again; that mends it.");
    return Json{{"sets", wanted.paths}, {"bytes", done}};
}

} // namespace

core::StepKind verify_step() {
    core::StepKind kind;
    kind.name = "store.verify";
    kind.sandbox = core::Sandbox::Store;
    kind.deadline = std::chrono::minutes(30);
    kind.interruptible = true;
    kind.apply = apply;
    // No verify: it changes nothing.
    return kind;
}

} // namespace gpuhost::kmod
