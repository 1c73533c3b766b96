// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/set/publication.hpp"
#include "daemon/runtime/toolkit/set.hpp"
#include "daemon/runtime/toolkit/stage.hpp"
#include "daemon/runtime/toolkit/steps.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

Result<std::vector<std::string>> parents_of(const std::vector<content::OpenSet>& sets, const Json& args) {
    const auto protect = base::strings_or_empty(args, "protect");
    std::vector<std::string> versions;
    for (const content::OpenSet& set : sets) {
        GPUHOST_TRY(manifest, decode_toolkit_manifest(set.manifest, set.file()));
        if (std::find(protect.begin(), protect.end(), manifest.version) != protect.end())
            return base::fail(Errc::AccessDenied,
                              "toolkit " + manifest.version +
                                  " is configured or selected, and its files have another name",
                              "Import it as root with 'sudo gpuhostctl toolkit import FILE…'.");
        versions.push_back(std::move(manifest.version));
    }
    return versions;
}

} // namespace

core::StepCode toolkit_publish_code() {
    return content::publish_code(
        "toolkit.publish",
        {.store = toolkit_directory, .staged = staged_toolkits, .patterns = {"/*"}, .parents = parents_of});
}

ToolkitImportSteps toolkit_import_steps() {
    return {{"toolkit.unpack",
             "unpack NVIDIA's toolkit, if it is part of the bundle",
             {{"artifacts", "toolkit"}}},
            {"toolkit.publish",
             "store the toolkit, if there is one",
             {{"optional", true}, {"artifacts", "toolkit"}}}};
}

} // namespace gpuhost::runtime
