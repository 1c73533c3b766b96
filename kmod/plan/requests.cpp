// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/requests.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/core/file_version.hpp"
#include "kmod/build/sign.hpp"
#include "kmod/store/flavour_choice.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using core::Plan;

namespace {

const std::string see_list = "List the drivers in the store: gpuhostctl driver list.";

core::Problem not_in_store(const std::string& version) {
    return {Errc::NotFound, "driver " + version + " is not in the store", see_list};
}

std::string count(std::size_t n, const std::string& what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

core::Problem needs_apply(const std::string& version) {
    return {Errc::AccessDenied,
            (version.empty() ? "the file names do not contain the driver version"
                             : "driver " + version + " is configured, loaded or selected") +
                ", so an import requires the right org.gpuhost1.apply",
            "Import it as root: sudo gpuhostctl driver import FILE…."};
}

Json source_json(const SourceSet& source) {
    return Json{{"path", source.path},
                {"file", source.file},
                {"sha256", source.sha256},
                {"directory", source.directory},
                {"flavour", source.flavour}};
}

/// Returns the source to build from; null if there is none of this flavour. For "any", prefers the source of
/// the open modules, which NVIDIA recommends for every GPU that they support.
const SourceSet* choose_source(const DriverVersion& version, const std::string& flavour) {
    const std::string wanted = flavour == "any" ? "open" : flavour;
    const auto found = std::find_if(version.sources.begin(), version.sources.end(),
                                    [&](const SourceSet& source) { return source.flavour == wanted; });
    if (found != version.sources.end())
        return &*found;
    return flavour != "any" || version.sources.empty() ? nullptr : &version.sources.front();
}

core::Problem no_source(const DriverVersion& version, const std::string& flavour) {
    const bool proprietary = flavour == "proprietary";
    std::string hint = std::string("Import ") +
                       (proprietary ? "nvidia-kernel-dkms" : "nvidia-open-kernel-dkms") +
                       " of this version, or modules that are already built";
    if (proprietary && !version.sources.empty())
        hint += ", or set Flavour=open in gpuhostd.conf to use the source in the store";
    return {Errc::NotFound,
            "driver " + version.version + " has no " + (flavour == "any" ? "" : flavour + " ") +
                "source in the store",
            hint + "."};
}

bool is_in_store(const Store& store, const std::string& version) {
    // Checks the form of `version`, because problems may be about other directories of the store.
    return base::is_driver_version(version) &&
           (store.find(version) != nullptr ||
            std::any_of(store.problems.begin(), store.problems.end(),
                        [&](const std::string& problem) { return is_of_version(problem, version); }));
}

/// Returns a step build.sign. `set` is the module set in the store to sign; null: the set that build.compile
/// makes in the same plan.
core::Step sign_step(const std::string& version, const std::string& kernel, const std::string& flavour,
                     const SigningSettings& signing, const ModuleSet* set) {
    Json args{{"version", version}, {"kernel", kernel}, {"flavour", flavour}, {"signing", to_json(signing)}};
    if (set != nullptr)
        args["set"] = set->path;
    return {"build.sign", "sign " + version + " (" + flavour + ") for " + kernel, std::move(args)};
}

/// Returns the kernels to build for, each once: `kernels`, or the running one if that is empty.
std::vector<std::string> wanted_kernels(const std::vector<std::string>& kernels, const Observed& observed) {
    if (kernels.empty())
        return {observed.kernel};
    std::vector<std::string> wanted;
    for (const std::string& kernel : kernels)
        if (std::find(wanted.begin(), wanted.end(), kernel) == wanted.end())
            wanted.push_back(kernel);
    return wanted;
}

} // namespace

std::vector<std::string> versions_in_use(const Observed& observed) {
    std::set<std::string> versions{observed.configured, observed.loaded_version};
    for (const auto& [kernel, selection] : observed.store.selected)
        versions.insert(selection.generation.version);
    versions.erase("");
    return {versions.begin(), versions.end()};
}

Plan import_plan(const std::vector<std::string>& names, const std::string& wanted,
                 const std::vector<std::string>* protect) {
    Plan plan;
    plan.kind = "driver.import";
    plan.changes_host = false;
    std::size_t packages = 0;
    std::size_t modules = 0;
    for (const std::string& name : names) {
        if (base::is_package_file(name))
            ++packages;
        else if (base::is_module_file(name))
            ++modules;
        else
            plan.problems.push_back(
                {Errc::InvalidArgument,
                 "'" + name + "' is neither a package (.deb, .rpm, .run) nor a .ko module",
                 {}});
    }
    if (names.empty())
        plan.problems.push_back({Errc::InvalidArgument, "no files to import",
                                 "Name packages (.deb, .rpm, .run), or a directory of built modules."});
    if (packages != 0 && modules != 0)
        plan.problems.push_back({Errc::InvalidArgument, "packages and modules cannot be imported together",
                                 "Import the packages first, then the modules."});
    if (!wanted.empty() && !base::is_driver_version(wanted))
        plan.problems.push_back({Errc::InvalidArgument, "'" + wanted + "' is not a driver version", {}});
    const std::string what = packages != 0 ? count(packages, "package") : count(modules, "module");
    const std::string version = core::version_in_names(names, base::is_driver_version);
    plan.title = "import driver " + (version.empty() ? "" : version + " ") + "(" + what + ")";
    if (protect != nullptr && !names.empty() &&
        (version.empty() || std::find(protect->begin(), protect->end(), version) != protect->end()))
        plan.problems.push_back(needs_apply(version));
    plan.reasons.push_back(what + " given");
    if (!plan.problems.empty())
        return plan;
    Json stage{{"names", names}};
    if (!wanted.empty())
        stage["version"] = wanted;
    plan.steps.push_back({"store.stage", "read and check " + what, std::move(stage)});
    plan.steps.push_back({"store.publish", "add it to the driver store",
                          protect != nullptr ? Json{{"protect", *protect}} : Json::object()});
    return plan;
}

Plan build_plan(const std::string& version, const std::vector<std::string>& kernels, bool again,
                const DriverSettings& settings, const Observed& observed) {
    Plan plan;
    plan.kind = "driver.build";
    plan.changes_host = false;
    const std::vector<std::string> wanted = wanted_kernels(kernels, observed);
    plan.title = "build driver " + version + " for " + base::join(wanted, ", ");
    if (version.empty()) {
        plan.title = "build a driver";
        plan.problems.push_back({Errc::InvalidArgument, "no driver version is given, configured or selected",
                                 "Name one: gpuhostctl driver build VERSION."});
        return plan;
    }
    const Store& store = observed.store;
    const DriverVersion* known = store.find(version);
    if (known == nullptr) {
        plan.problems.push_back(not_in_store(version));
        return plan;
    }
    FlavourChoice choice = choose_flavour(store, version, settings.flavour, observed.gpus);
    plan.reasons = std::move(choice.reasons);
    if (choice.problem) {
        plan.problems.push_back(std::move(*choice.problem));
        return plan;
    }
    const SourceSet* const source = choose_source(*known, choice.flavour);
    const std::string flavour = source != nullptr         ? source->flavour
                                : choice.flavour == "any" ? ""
                                                          : choice.flavour;
    const bool sign = !settings.signing.key.empty();
    if (sign)
        plan.problems = signing_problems(settings.signing);
    std::vector<std::string> compiling;
    std::vector<std::string> building;
    for (const std::string& kernel : wanted) {
        if (!base::is_kernel_release(kernel)) {
            plan.problems.push_back({Errc::InvalidArgument, "'" + kernel + "' is not a kernel release", {}});
            continue;
        }
        const ModuleSet* const set = store.modules_for(version, kernel, flavour);
        const bool there = set != nullptr && !again;
        if (source == nullptr && (!there || !sign)) {
            plan.problems.push_back(no_source(*known, choice.flavour));
            return plan;
        }
        const std::string made = set != nullptr ? set->flavour : flavour;
        const bool lacks_signature = there && sign && !is_signed(*set);
        plan.reasons.push_back(version + (set != nullptr ? " has " : " has no ") + made + " modules for " +
                               kernel + (there ? " already" : "") +
                               (lacks_signature ? ", which are not signed" : ""));
        if (!there)
            compiling.push_back(kernel);
        if (sign && (!there || lacks_signature))
            plan.steps.push_back(sign_step(version, kernel, made, settings.signing, there ? set : nullptr));
        if (!there || lacks_signature)
            building.push_back(kernel);
    }
    if (!compiling.empty())
        plan.steps.insert(
            plan.steps.begin(),
            {"build.compile",
             "compile " + version + " (" + source->flavour + ") for " + base::join(compiling, ", "),
             Json{{"version", version}, {"kernels", compiling}, {"source", source_json(*source)}}});
    if (!plan.problems.empty())
        plan.steps.clear();
    if (!plan.steps.empty())
        plan.steps.push_back({"store.publish",
                              "add " + count(building.size(), "module set") + " to the driver store",
                              Json{{"version", version}, {"kernels", building}}});
    return plan;
}

Plan remove_plan(const std::string& version, const std::vector<std::string>& pins, const Observed& observed) {
    Plan plan;
    plan.kind = "driver.remove";
    plan.changes_host = false;
    plan.title = "remove driver " + version;
    const Store& store = observed.store;
    const std::string swap_first = "Swap to another version first: gpuhostctl driver swap VERSION.";
    if (!is_in_store(store, version))
        plan.problems.push_back(not_in_store(version));
    for (const auto& [kernel, selection] : store.selected) {
        if (selection.generation.version == version)
            plan.problems.push_back(
                {Errc::InUse, "driver " + version + " is selected for kernel " + kernel, swap_first});
        else if (selection.previous && selection.previous->version == version)
            plan.reasons.push_back("rollback on kernel " + kernel + " will no longer be possible");
    }
    if (observed.loaded_version == version)
        plan.problems.push_back({Errc::InUse, "driver " + version + " is loaded", swap_first});
    if (std::find(pins.begin(), pins.end(), version) != pins.end())
        plan.problems.push_back({Errc::Refused, "driver " + version + " is pinned",
                                 "Unpin it first: gpuhostctl driver unpin " + version + "."});
    if (!plan.problems.empty())
        return plan;
    const Json args{{"version", version}};
    plan.steps.push_back({"store.remove", "remove " + version + " from the driver store", args});
    plan.steps.push_back({"store.purge", "delete its files", args, true});
    return plan;
}

Plan verify_plan(const std::string& version, const Observed& observed) {
    Plan plan;
    plan.kind = "driver.verify";
    plan.changes_host = false;
    plan.title = version.empty() ? "verify the driver store" : "verify driver " + version;
    const Store& store = observed.store;
    if (!version.empty() && !is_in_store(store, version)) {
        plan.problems.push_back(not_in_store(version));
        return plan;
    }
    if (store.versions.empty() && store.problems.empty()) {
        plan.reasons.push_back("the driver store is empty");
        return plan;
    }
    Json versions = Json::array();
    if (!version.empty())
        versions.push_back(version);
    plan.steps.push_back({"store.verify", "hash every file again", Json{{"versions", std::move(versions)}}});
    return plan;
}

} // namespace gpuhost::kmod
