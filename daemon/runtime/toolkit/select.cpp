// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/runtime/toolkit/config.hpp"
#include "daemon/runtime/toolkit/steps.hpp"
#include "daemon/runtime/toolkit/use.hpp"

#include <optional>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using content::FileOperation;
using core::StepContext;

namespace {

const std::string link_path(toolkit_current);
const std::string config_path(toolkit_config_path);

/// The desired state. Without a toolkit, gpuhost's link and config.toml are removed. The link stays while a
/// running container or a runtime needs it.
struct ToolkitTarget {
    std::string link;                  ///< target of `current`; empty: none
    std::string config;                ///< text of config.toml; empty: no file of gpuhost
    Json document;                     ///< document of config.toml
    std::vector<std::string> problems; ///< sentences about ignored options
};

Result<ToolkitTarget> goal_of(const StepContext& context, const Json& args) {
    const std::string path = base::string_or(args, "path", "");
    if (path.empty())
        return ToolkitTarget{};
    GPUHOST_TRY(set, read_toolkit(context.root, path));
    const ToolkitSettings settings = toolkit_settings_from_json(base::member(args, "settings"));
    ToolkitConfig config = make_toolkit_config(settings, toolkit_facts(context.root, set));
    std::string text = toolkit_config_text(config.document);
    return ToolkitTarget{link_to_toolkit(path), std::move(text), std::move(config.document),
                         std::move(config.problems)};
}

FileOperation link_to(const std::string& target) {
    return {target.empty() ? FileOperation::Type::Remove : FileOperation::Type::Link, link_path, target};
}

FileOperation config_with(const std::string& text) {
    return {text.empty() ? FileOperation::Type::Remove : FileOperation::Type::Write, config_path, text};
}

// --- the state that this transaction found; undo restores it

struct Found {
    std::string link;
    bool is_ours = true; ///< config.toml was gpuhost's or missing; files of other programs stay unchanged
    std::string config;  ///< text of config.toml; empty: none
    /// Text of config.toml that apply writes. If the file has another text, undo does not change the file.
    std::string wrote;
};

std::string found_path(const StepContext& context) {
    return context.staging + "/toolkit-undo.json";
}

Result<void> remember(const StepContext& context, const ToolkitTarget& goal) {
    if (context.root.exists(found_path(context)))
        return {}; // an earlier run has recorded the state before any change
    const bool is_ours = content::is_ours(context.root, config_path);
    const Json found{{"link", context.root.read_link(link_path).value_or(std::string())},
                     {"ours", is_ours},
                     {"config", context.root.read(config_path).value_or(std::string())},
                     {"wrote", goal.config}};
    GPUHOST_CHECK(context.root.make_directories(context.staging));
    return context.root.write_atomic(found_path(context), base::dump(found), 0600);
}

std::optional<Found> read_found(const StepContext& context) {
    const auto text = context.root.read(found_path(context));
    const auto value = text ? base::parse_json(*text, found_path(context)) : base::fail(text.error());
    if (!value)
        return std::nullopt;
    return Found{base::string_or(*value, "link", ""), base::bool_or(*value, "ours", true),
                 base::string_or(*value, "config", ""), base::string_or(*value, "wrote", "")};
}

// --- phases

/// Warns of ignored options, and of another program's file that has precedence. Neither is an error.
void warn_of(StepContext& context, const ToolkitTarget& goal) {
    for (const std::string& problem : goal.problems)
        context.warn(problem);
    if (goal.config.empty() || content::is_ours(context.root, config_path))
        return;
    context.warn(config_path + " belongs to another program: it stays unchanged and takes precedence");
    const auto sentences = others_options(context.root, goal.document);
    if (!sentences)
        context.warn(sentences.error().message);
    for (const std::string& sentence : sentences.value_or(std::vector<std::string>()))
        context.warn(config_path + ": " + sentence);
}

Result<std::vector<core::Problem>> preflight(StepContext& context, const Json& args) {
    const std::string path = base::string_or(args, "path", "");
    std::vector<core::Problem> problems;
    if (path.empty())
        return problems;
    GPUHOST_TRY(goal, goal_of(context, args));
    GPUHOST_TRY(bad, content::check_set(context.root, path));
    if (!bad.empty())
        problems.push_back({Errc::BadContent, path + " is damaged: " + bad.front(),
                            "Import this version of the toolkit again."});
    warn_of(context, goal);
    return problems;
}

/// Sets the link first and removes it last, so that containers can start at any moment. With the link and
/// without a file, NVIDIA's tools use their defaults. Without both, nothing starts NVIDIA's tools.
Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(goal, goal_of(context, args));
    GPUHOST_CHECK(remember(context, goal));
    warn_of(context, goal);
    const bool is_ours = content::is_ours(context.root, config_path);
    if (!goal.link.empty())
        GPUHOST_CHECK(content::perform(context.root, link_to(goal.link)));
    if (is_ours)
        GPUHOST_CHECK(content::perform(context.root, config_with(goal.config)));
    if (!goal.link.empty())
        return Json{{"link", goal.link}, {"config", is_ours ? "written" : "another's"}};
    const auto users = users_of_link(context.root);
    if (!users.empty()) {
        context.warn(link_path + " is kept for now: " + users.front());
        return Json{{"link", "kept"}, {"config", "removed"}};
    }
    GPUHOST_CHECK(content::perform(context.root, link_to({})));
    return Json{{"link", "removed"}, {"config", "removed"}};
}

Result<void> verify(StepContext& context, const Json& args) {
    GPUHOST_TRY(goal, goal_of(context, args));
    const bool is_ours = content::is_ours(context.root, config_path);
    if (!goal.link.empty() && !content::is_done(context.root, link_to(goal.link)))
        return base::fail(Errc::Failed, link_path + " does not point to " + goal.link);
    if (is_ours && !content::is_done(context.root, config_with(goal.config)))
        return base::fail(Errc::Failed, config_path + " differs from what was written");
    return {};
}

Result<void> undo(StepContext& context, const Json&) {
    const auto found = read_found(context);
    if (!found)
        return {}; // apply has changed nothing
    const std::string now = context.root.read(config_path).value_or(std::string());
    if (found->is_ours && now != found->config && now == found->wrote)
        GPUHOST_CHECK(content::perform(context.root, config_with(found->config)));
    else if (found->is_ours && now != found->config)
        context.warn(config_path + " was changed meanwhile by another program, so it is left unchanged");
    if (const auto users = users_of_link(context.root); found->link.empty() && !users.empty()) {
        context.warn(link_path + " is kept for now: " + users.front());
        return {};
    }
    return content::perform(context.root, link_to(found->link));
}

} // namespace

core::StepCode toolkit_select_code() {
    return {.name = "toolkit.select", .preflight = preflight, .apply = apply, .verify = verify, .undo = undo};
}

core::Step toolkit_select_step(const ToolkitSettings& settings, const std::string& path,
                               std::string summary) {
    return {"toolkit.select", std::move(summary), {{"path", path}, {"settings", to_json(settings)}}};
}

} // namespace gpuhost::runtime
