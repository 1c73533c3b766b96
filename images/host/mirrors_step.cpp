// SPDX-License-Identifier: Apache-2.0
#include "images/host/mirrors_step.hpp"

#include "daemon/base/parse.hpp"
#include "images/host/crio_reload.hpp"
#include "images/host/k3s.hpp"
#include "images/host/mirrors.hpp"
#include "images/host/registries_conf.hpp"

namespace gpuhost::images {

using base::Json;
using base::Result;
using core::StepContext;

namespace {

/// Changes a file that CRI-O reads at its start and after SIGHUP. Workers cannot send signals, so this
/// function only creates the mark; gpuhost-images.service sends the signal later.
Result<void> perform_for_crio(const base::Root& root, const content::FileOperation& file) {
    if (!root.exists(crio_directory))
        return content::perform(root, file);
    GPUHOST_TRY(reload, CrioReload::begin(root));
    GPUHOST_CHECK(reload.mark());
    return content::perform(root, file);
}

/// Returns the name of the program (k3s or RKE2) that reads this file only at its start; empty for other
/// files.
std::string_view reader_at_start(const base::Root& root, const std::string& path) {
    for (const K3s& k3s : k3s_kinds)
        if (path == k3s.registries && root.exists(k3s.agent))
            return k3s.name;
    return {};
}

Result<Json> apply(StepContext& context, const Json& args) {
    const MirrorSettings settings{base::bool_or(args, "enable", false), base::string_or(args, "address", ""),
                                  base::bool_or(args, "upstream", true)};
    const Registries registries = mirrored_registries(context.root);
    const Mirrors mirrors = observe_mirrors(context.root, registries, settings);
    Json changed = Json::array();
    for (const content::FileOperation& file : mirrors.wrong) {
        const auto done = file.path == containers_file ? perform_for_crio(context.root, file)
                                                       : content::perform(context.root, file);
        if (!done) {
            context.warn("a container runtime is not configured for this host's images: " +
                         done.error().message);
            continue;
        }
        if (file.type == content::FileOperation::Type::Remove && base::ends_with(file.path, "/hosts.toml"))
            (void)context.root.remove(
                // Removes the directory of the file, unless it contains other files.
                file.path.substr(0, file.path.rfind('/')));
        if (const std::string_view k3s = reader_at_start(context.root, file.path);
            !k3s.empty() && file.type == content::FileOperation::Type::Remove)
            context.warn(std::string(k3s) + " asks this host for images until it is restarted: " + file.path +
                         " was removed");
        changed.push_back(file.path);
    }
    const Mirrors after = observe_mirrors(context.root, registries, settings);
    for (const std::string& why : after.left)
        context.warn(why);
    return Json{{"files", std::move(changed)}};
}

} // namespace

core::StepCode mirrors_code() {
    return {.name = "images.mirrors", .apply = apply};
}

core::Step mirrors_step(const MirrorSettings& settings) {
    return {"images.mirrors",
            "point container runtimes at this host's images, if there are any",
            {{"enable", settings.enable}, {"address", settings.address}, {"upstream", settings.upstream}}};
}

} // namespace gpuhost::images
