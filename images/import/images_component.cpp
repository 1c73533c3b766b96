// SPDX-License-Identifier: Apache-2.0
#include "images/import/images_component.hpp"

#include "daemon/base/kernels.hpp"
#include "daemon/base/parse.hpp"
#include "images/bundle/distribution.hpp"
#include "images/bundle/reference.hpp"
#include "images/host/kubelet.hpp"
#include "images/host/mirrors_step.hpp"
#include "images/host/placement.hpp"
#include "images/host/repositories.hpp"
#include "images/host/repositories_step.hpp"
#include "images/images_settings.hpp"
#include "images/import/foreign_import.hpp"
#include "images/import/import.hpp"
#include "images/peers_settings.hpp"
#include "images/store/catalogue.hpp"
#include "images/store/scrub.hpp"

#include <algorithm>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using core::Plan;

namespace {

Plan new_plan(const std::string& request) {
    Plan plan;
    plan.kind = "bundle." + request;
    plan.changes_host = false;
    return plan;
}

/// Adds the steps images.mirrors and packages.repositories, which update files of runtimes and package
/// managers from the catalogue. `forward`: see core::Step.
void add_followers(Plan& plan, const core::Settings& settings, bool forward) {
    for (core::Step step :
         {mirrors_step(mirror_settings(settings)), repositories_step(repositories_are_on(settings))}) {
        step.forward = forward;
        plan.steps.push_back(std::move(step));
    }
}

/// Adds the steps that all imports have in common, after bundle.receive or bundle.convert.
void add_entry(Plan& plan, const core::Desired& desired, const Json& host) {
    plan.steps.push_back({"bundle.commit", "add it to the catalogue", host});
    plan.steps.push_back({"bundle.finalize", "remove what it replaces", Json::object(), true});
    add_followers(plan, desired.settings, true);
}

/// Reports whether all files of runtimes and package managers agree with the catalogue. If not, the argument
/// "mends" of an import is true: the steps that write such files must then not be skipped.
bool followers_are_right(const Json& observed) {
    return base::strings_or_empty(base::member(observed, "mirrors"), "wrong").empty() &&
           base::strings_or_empty(base::member(observed, "packages"), "wrong").empty();
}

/// Returns those arguments of steps that describe this host: its HostFacts, and the kubelet's threshold. Only
/// root can read that threshold.
Json host_of(const Json& observed) {
    Json told = to_json(host_facts_from_json(observed));
    told["image-gc-threshold"] = base::member(observed, "image_gc_threshold");
    return told;
}

Plan import_plan(const core::Desired& desired, const Json& request, const Json& observed,
                 const std::vector<core::Step>& others) {
    Plan plan = new_plan("import");
    const auto files = base::strings_or_empty(request, "files");
    const std::string what = files.empty() ? "nothing" : files.front();
    plan.title = "import bundle " + what;
    if (files.empty()) {
        plan.problems.push_back({Errc::InvalidArgument, "no file to import", ""});
        return plan;
    }
    const auto least = least_generations(desired.settings);
    if (!least) {
        plan.problems.push_back({least.error().code, least.error().message, least.error().hint});
        return plan;
    }
    plan.reasons.push_back("requested: " + base::join(files, ", "));
    const Json host = host_of(observed);
    Json args = host;
    args["files"] = files;
    args["allow-downgrade"] = base::bool_or(request, "allow-downgrade", false);
    args["least-generations"] = *least;
    args["mends"] = !followers_are_right(observed);
    plan.steps.push_back({"bundle.receive", "verify " + what + " and copy its missing blobs", args});
    plan.steps.insert(plan.steps.end(), others.begin(), others.end());
    add_entry(plan, desired, host);
    // The step bundle.receive may skip these steps, see receive_signed().
    Json& told = plan.steps.front().args;
    for (const core::Step& step : others)
        told["steps_for"][base::string_or(step.args, "artifacts", "")].push_back(step.kind);
    told["steps_after"] = plan.steps.size() - 1;
    return plan;
}

/// Plans an import of a bundle that gpuhost-fetch sends through a pipe. The step bundle.receive checks
/// signature and generation.
Plan receive_plan(const core::Desired& desired, const Json& request, const Json& observed,
                  const std::vector<core::Step>& others) {
    Json stream = request;
    stream["allow-downgrade"] = false;
    Plan plan = import_plan(desired, stream, observed, others);
    if (!plan.problems.empty())
        return plan;
    plan.title += " from peers";
    plan.steps.front().args["stream"] = true;
    return plan;
}

/// Plans an import of unsigned images. It has no steps of other subsystems: drivers are imported only from
/// signed bundles.
Plan unsigned_plan(const core::Desired& desired, const Json& request, const Json& observed) {
    Plan plan = new_plan("import");
    const auto files = base::strings_or_empty(request, "files");
    const std::string what = files.empty() ? "nothing" : files.front();
    std::string name = base::string_or(request, "name", "");
    if (name.empty())
        name = bundle_name_of(what);
    plan.title = "import unsigned images from " + what;
    if (!unsigned_is_allowed(desired.settings))
        plan.problems.push_back({Errc::Refused, "this host does not accept unsigned images",
                                 "Set AllowUnsigned=yes in section [Images] of gpuhostd.conf(5), or make a "
                                 "signed bundle of them: gpuhostctl bundle create."});
    if (files.size() != 1)
        plan.problems.push_back(
            {Errc::InvalidArgument, "unsigned images require exactly one file or directory", ""});
    if (!is_bundle_name(name))
        plan.problems.push_back({Errc::InvalidArgument, "'" + name + "' is not a valid bundle name",
                                 "Pass a name for the bundle: --name NAME."});
    const auto least = least_generations(desired.settings);
    if (!least)
        plan.problems.push_back({least.error().code, least.error().message, least.error().hint});
    else if (least->count(name) != 0)
        plan.problems.push_back({Errc::Refused, "bundle '" + name + "' must be signed",
                                 "Pass another name with --name NAME: MinimumGeneration= in section [Images] "
                                 "of gpuhostd.conf(5) lists this one."});
    const std::string image = base::string_or(request, "image-name", "");
    const auto reference = parse_reference(image);
    if (!image.empty() && (!reference || !reference->digest.empty()))
        plan.problems.push_back({Errc::InvalidArgument, "'" + image + "' is not an image name with a tag",
                                 "Pass REPOSITORY:TAG, for instance registry.example/team/app:v1."});
    if (!plan.problems.empty())
        return plan;
    plan.reasons.push_back("requested: " + what);
    Json host = host_of(observed);
    host["unsigned"] = true;
    Json args = host;
    args["files"] = files;
    args["name"] = name;
    args["mends"] = !followers_are_right(observed);
    args["image-name"] = image.empty() ? "" : reference->text();
    args["allow-downgrade"] = base::bool_or(request, "allow-downgrade", false);
    plan.steps.push_back(
        {"bundle.convert", "unpack " + what + " and compare its blobs with their digests", args});
    add_entry(plan, desired, host);
    return plan;
}

Plan remove_plan(const core::Desired& desired, const std::string& name, const Json& observed) {
    Plan plan = new_plan("remove");
    plan.title = "remove bundle " + name;
    const Json& bundles = base::member(observed, "bundles");
    if (std::none_of(bundles.begin(), bundles.end(),
                     [&](const Json& bundle) { return base::string_or(bundle, "name", "") == name; })) {
        plan.problems.push_back({Errc::NotFound, "bundle '" + name + "' not found",
                                 "Run 'gpuhostctl bundle list' to list the bundles of this host."});
        return plan;
    }
    plan.reasons.push_back("requested");
    plan.steps.push_back(repositories_step_without(repositories_are_on(desired.settings), name));
    plan.steps.push_back(
        {"bundle.remove", "remove " + name + " and the blobs that only it owns", {{"name", name}}, true});
    add_followers(plan, desired.settings, false);
    return plan;
}

/// Returns the registries of the images in bundles, and the files of container runtimes that must be changed
/// for these registries.
Json mirrors_of(const base::Root& root, const MirrorSettings& settings) {
    const Registries registries = mirrored_registries(root);
    const Mirrors mirrors = observe_mirrors(root, registries, settings);
    Json wrong = Json::array();
    for (const content::FileOperation& file : mirrors.wrong)
        wrong.push_back(file.path);
    return {{"registries", registries.names}, {"wrong", std::move(wrong)}, {"left", mirrors.left}};
}

Json packages_of(const base::Root& root, const core::Settings& settings) {
    const Repositories repositories = observe_repositories(root, repositories_are_on(settings));
    Json wrong = Json::array();
    for (const content::FileOperation& file : repositories.wrong)
        wrong.push_back(file.path);
    return {{"bundles", repositories.bundles}, {"wrong", std::move(wrong)}, {"left", repositories.left}};
}

/// Plans `apply` without a request: updates files of runtimes and package managers that do not agree with the
/// catalogue. The steps are not `forward`, because a driver swap may follow in the same transaction.
Plan converge_plan(const core::Desired& desired, const Json& observed) {
    Plan plan;
    plan.kind = "images.converge";
    plan.title = "configure this host's programs for the content of its bundles";
    const auto add = [&](std::string_view what, core::Step step) {
        const auto wrong = base::strings_or_empty(base::member(observed, what), "wrong");
        for (const std::string& path : wrong)
            plan.reasons.push_back(path + " is not as configured");
        if (!wrong.empty())
            plan.steps.push_back(std::move(step));
    };
    add("mirrors", mirrors_step(mirror_settings(desired.settings)));
    add("packages", repositories_step(repositories_are_on(desired.settings)));
    return plan;
}

} // namespace

base::Result<core::Observation> ImagesComponent::observe(const core::Settings& settings) {
    const Catalogue catalogue(root_);
    GPUHOST_TRY(names, catalogue.names());
    Json bundles = Json::array();
    for (const std::string& name : names) {
        const auto record = catalogue.record(name);
        bundles.push_back(record ? to_json(*record)
                                 : Json{{"name", name}, {"problem", record.error().message}});
    }
    const PeersSettings fetching = peers_settings(settings);
    const auto threshold = kubelet_threshold(root_);
    Json observed = to_json(HostFacts{host_platform(root_), base::installed_kernels(root_),
                                      distributions_of(read_os_release(root_)),
                                      driver_filter_ ? driver_filter_(settings) : core::DriverFilter()});
    observed.update({{"bundles", std::move(bundles)},
                     {"mirrors", mirrors_of(root_, mirror_settings(settings))},
                     {"packages", packages_of(root_, settings)},
                     {"scrub", last_scrub(root_)},
                     {"placement", images_managed(settings) ? last_placement(root_) : Json()},
                     {"peers", fetching.peers},
                     {"peer_domains", fetching.domains},
                     {"image_gc_threshold", threshold ? Json(*threshold) : Json()}});
    return observed;
}

Plan ImagesComponent::plan(const core::Desired& desired, const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Json&>(observation);
    if (desired.request.empty())
        return converge_plan(desired, observed);
    if (!desired.request.contains("images"))
        return {};
    const Json& request = base::member(desired.request, "images");
    const std::string kind = base::string_or(request, "request", "");
    if (kind == "import" && base::bool_or(request, "unsigned", false))
        return unsigned_plan(desired, request, observed);
    if (kind == "import")
        return import_plan(desired, request, observed, import_steps_);
    if (kind == "receive")
        return receive_plan(desired, request, observed, import_steps_);
    if (kind == "remove")
        return remove_plan(desired, base::string_or(request, "name", ""), observed);
    Plan plan = new_plan(kind);
    plan.title = plan.kind;
    plan.problems.push_back({Errc::InvalidArgument, "unknown request '" + kind + "' of the images", ""});
    return plan;
}

} // namespace gpuhost::images
