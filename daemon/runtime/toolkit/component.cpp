// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/component.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/core/cluster_desired.hpp"
#include "daemon/core/file_version.hpp"
#include "daemon/runtime/toolkit/config.hpp"
#include "daemon/runtime/toolkit/steps.hpp"
#include "daemon/runtime/toolkit/use.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using core::Plan;

namespace {

bool is_in_store(const Json& observed, const std::string& version) {
    const Json& store = base::member(observed, "store");
    const auto problems = base::strings_or_empty(store, "problems");
    const auto& sets = base::member(store, "toolkits");
    return std::any_of(sets.begin(), sets.end(),
                       [&](const Json& set) { return base::string_or(set, "version", "") == version; }) ||
           std::any_of(problems.begin(), problems.end(), [&](const std::string& problem) {
               return problem.find("/" + version + "/") != std::string::npos;
           });
}

/// Returns the versions whose programs containers run, now or after the next apply. An import of such a
/// version changes the programs, because the newest import is used.
std::vector<std::string> versions_in_use(const Json& observed) {
    std::vector<std::string> versions;
    for (const std::string& version : {base::string_or(observed, "selected", ""),
                                       base::string_or(base::member(observed, "wanted"), "version", "")})
        if (!version.empty())
            versions.push_back(version);
    return versions;
}

core::Problem needs_apply(const std::string& version) {
    return {Errc::AccessDenied,
            (version.empty() ? "the file names do not show the version of the toolkit"
                             : "toolkit " + version + " is configured or selected") +
                ", so importing it requires the right org.gpuhost1.apply",
            "Import it as root with 'sudo gpuhostctl toolkit import FILE…'."};
}

/// Plans an import. `protect` lists versions that the caller may not import; nullptr: it may import all.
Plan import_plan(const std::vector<std::string>& names, const std::vector<std::string>* protect) {
    Plan plan;
    plan.kind = "toolkit.import";
    plan.changes_host = false;
    const std::string what = std::to_string(names.size()) + (names.size() == 1 ? " file" : " files");
    const std::string version = core::version_in_names(names, base::is_toolkit_version);
    plan.title = "import toolkit " + (version.empty() ? "" : version + " ") + "(" + what + ")";
    plan.reasons.push_back(what + " given");
    if (names.empty()) {
        plan.problems.push_back(
            {Errc::InvalidArgument, "no files to import", "Name .deb or .rpm packages, or a tar archive."});
        return plan;
    }
    if (protect != nullptr &&
        (version.empty() || std::find(protect->begin(), protect->end(), version) != protect->end())) {
        plan.problems.push_back(needs_apply(version));
        return plan;
    }
    plan.steps.push_back({"toolkit.stage", "read and check " + what, Json{{"names", names}}});
    plan.steps.push_back({"toolkit.publish", "put it into the toolkit store",
                          protect != nullptr ? Json{{"protect", *protect}} : Json::object()});
    return plan;
}

Plan remove_plan(const std::string& version, const Json& observed) {
    Plan plan;
    plan.kind = "toolkit.remove";
    plan.changes_host = false;
    plan.title = "remove toolkit " + version;
    if (!base::is_toolkit_version(version) || !is_in_store(observed, version))
        plan.problems.push_back({Errc::NotFound, "toolkit " + version + " is not in the store",
                                 "List the toolkits with 'gpuhostctl toolkit list'."});
    else if (base::string_or(observed, "selected", "") == version)
        plan.problems.push_back({Errc::InUse, "toolkit " + version + " is selected",
                                 "Select another one or none with [Toolkit] Version= in gpuhostd.conf, then "
                                 "run 'gpuhostctl apply'."});
    if (!plan.problems.empty())
        return plan;
    const Json args{{"version", version}};
    plan.steps.push_back({"toolkit.remove", "remove " + version + " from the toolkit store", args});
    plan.steps.push_back({"toolkit.purge", "delete its files", args, true});
    return plan;
}

Plan request_plan(const Json& request, const Json& observed) {
    const std::string kind = base::string_or(request, "request", "");
    if (kind == "import") {
        const std::vector<std::string> in_use = versions_in_use(observed);
        return import_plan(base::strings_or_empty(request, "files"),
                           base::bool_or(request, "only_new", false) ? &in_use : nullptr);
    }
    if (kind == "remove")
        return remove_plan(base::string_or(request, "version", ""), observed);
    Plan plan;
    plan.kind = "toolkit." + kind;
    plan.title = plan.kind;
    plan.problems.push_back({Errc::InvalidArgument, "unknown request '" + kind + "' for toolkits", ""});
    return plan;
}

/// Returns why the selected toolkit or its config.toml differs from the desired state; empty if they do not.
std::vector<std::string> reasons_of(const Json& observed) {
    const Json& wanted = base::member(observed, "wanted");
    const std::string path = base::string_or(wanted, "path", "");
    const std::string current = base::string_or(observed, "current", "");
    const std::string selected = base::string_or(observed, "selected", "");
    const Json& config = base::member(observed, "config");
    const std::string state = base::string_or(config, "state", "");
    const std::string file = base::string_or(config, "path", "");
    std::vector<std::string> reasons;
    if (path.empty()) {
        if (!current.empty() && base::strings_or_empty(observed, "link_users").empty())
            reasons.push_back(std::string(toolkit_current) + " still points to a toolkit");
        if (state == "ours" || state == "outdated")
            reasons.push_back(file + " is still a file of gpuhost");
        return reasons;
    }
    if (current != path)
        reasons.push_back(current.empty()    ? "no toolkit is selected"
                          : selected.empty() ? std::string("the selected toolkit is not in the store")
                                             : "toolkit " + selected + " is selected, but " +
                                                   base::string_or(wanted, "version", "") + " is required");
    if (state == "none")
        reasons.push_back(file + " is missing");
    if (state == "outdated")
        reasons.push_back(file + " does not match the settings");
    if (state == "other" && !reasons.empty())
        reasons.push_back(file + " belongs to another program, stays unchanged and takes precedence");
    return reasons;
}

} // namespace

Result<core::Observation> ToolkitComponent::observe(const core::Settings& settings) {
    const ToolkitSettings wanted = toolkit_settings(settings);
    const ToolkitStore store = read_toolkit_store(root_);
    const std::string current = current_toolkit(root_);
    const std::string elsewhere = preinstalled_directory(wanted);
    const bool is_preinstalled = is_toolkit_in(root_, elsewhere);
    const ToolkitChoice choice = choose_toolkit(wanted, store, current, is_preinstalled);
    const ToolkitSet* const selected = store.at(current);
    const ToolkitSet* const chosen = store.at(choice.path);
    const ToolkitConfig config =
        chosen != nullptr ? make_toolkit_config(wanted, toolkit_facts(root_, *chosen)) : ToolkitConfig();
    const std::string text = chosen != nullptr ? toolkit_config_text(config.document) : std::string();
    return Json{{"wanted",
                 {{"source", name_of(choice.source)},
                  {"version", choice.version},
                  {"path", choice.path},
                  {"problem", choice.problem},
                  {"from_cluster", wanted.of_cluster}}},
                {"selected", selected != nullptr ? selected->manifest.version : std::string()},
                {"current", current},
                {"link_users",
                 choice.path.empty() && !current.empty() ? users_of_link(root_) : std::vector<std::string>()},
                {"preinstalled", is_preinstalled ? elsewhere : std::string()},
                {"mode", wanted.mode},
                {"config",
                 {{"path", toolkit_config_path},
                  {"state", name_of(toolkit_config_state(root_, text))},
                  {"problems", config.problems}}},
                {"store", to_json(store, current)}};
}

Plan ToolkitComponent::plan(const core::Desired& desired, const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Json&>(observation);
    if (!desired.request.empty())
        return desired.request.contains("toolkit")
                   ? request_plan(base::member(desired.request, "toolkit"), observed)
                   : Plan();
    Plan plan;
    plan.kind = "toolkit.converge";
    const Json& wanted = base::member(observed, "wanted");
    if (const std::string problem = base::string_or(wanted, "problem", ""); !problem.empty()) {
        plan.title = "select a toolkit";
        plan.problems.push_back(
            {Errc::NotFound, problem,
             "Import it with 'gpuhostctl toolkit import FILE…', or import a bundle that contains it."});
        return plan;
    }
    plan.reasons = reasons_of(observed);
    if (plan.reasons.empty())
        return plan;
    const std::string version = base::string_or(wanted, "version", "");
    if (base::bool_or(wanted, "from_cluster", false))
        plan.reasons.push_back(std::string(core::cluster_policy_source) + " requires " + version);
    plan.title = version.empty() ? "stop using gpuhost's toolkit" : "use NVIDIA's toolkit " + version;
    plan.steps.push_back(toolkit_select_step(toolkit_settings(desired.settings),
                                             base::string_or(wanted, "path", ""), plan.title));
    return plan;
}

bool ToolkitComponent::converge_at_start(const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Json&>(observation);
    const std::string wanted = base::string_or(base::member(observed, "wanted"), "path", "");
    const std::string state = base::string_or(base::member(observed, "config"), "state", "");
    // No toolkit is desired, and only the link remains. It is removed when no container or runtime needs it
    // any more.
    if (wanted.empty())
        return !base::string_or(observed, "current", "").empty() && state != "ours" && state != "outdated";
    return base::string_or(observed, "current", "") == wanted;
}

} // namespace gpuhost::runtime
