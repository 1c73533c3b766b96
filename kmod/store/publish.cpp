// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/publish.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/set/publication.hpp"
#include "kmod/store/manifest.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;

namespace {

/// Fails if the staged sets are not those that the args require.
Result<void> check_wanted(const std::vector<Manifest>& sets, const Json& args) {
    const std::string version = base::string_or(args, "version", {});
    const auto protect = base::strings_or_empty(args, "protect");
    for (const Manifest& set : sets)
        if (std::find(protect.begin(), protect.end(), set.version) != protect.end())
            return base::fail(
                Errc::AccessDenied,
                "driver " + set.version +
                    " is configured, loaded or selected, but the file names contain another version",
                "Import it as root: sudo gpuhostctl driver import FILE….");
    for (const Manifest& set : sets)
        if (!version.empty() && set.version != version)
            return base::fail(Errc::BadContent,
                              "version " + set.version + " was staged, expected " + version);
    for (const std::string& kernel : base::strings_or_empty(args, "kernels"))
        if (std::none_of(sets.begin(), sets.end(), [&](const auto& set) { return set.kernel == kernel; }))
            return base::fail(Errc::BadContent, "no modules for kernel " + kernel + " were staged");
    return {};
}

Result<std::vector<std::string>> parents_of(const std::vector<content::OpenSet>& sets, const Json& args) {
    std::vector<Manifest> manifests;
    std::vector<std::string> parents;
    for (const content::OpenSet& set : sets) {
        GPUHOST_TRY(manifest, decode_manifest(set.manifest, set.file()));
        parents.push_back(set_place(manifest));
        manifests.push_back(std::move(manifest));
    }
    GPUHOST_CHECK(check_wanted(manifests, args));
    return parents;
}

} // namespace

core::StepCode store_publish_code() {
    return content::publish_code("store.publish",
                                 {.store = store_directory,
                                  .staged = {},
                                  .patterns = {"/userland", "/modules/*", "/source/*", "/bundled/*/userland",
                                               "/bundled/*/modules/*", "/bundled/*/source/*"},
                                  .parents = parents_of});
}

} // namespace gpuhost::kmod
