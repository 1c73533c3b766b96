// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/error.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <pwd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;

namespace {

/// Returns the user's name as the operation recorded it, or else the current name of the uid.
std::string user_name(const Json& subject, const char* name, const char* uid) {
    std::string recorded = text_of(subject, name);
    if (!recorded.empty())
        return recorded;
    const auto number = static_cast<uid_t>(base::int_or(subject, uid, 0));
    const passwd* const entry = ::getpwuid(number);
    return entry == nullptr ? "user " + std::to_string(number) : entry->pw_name;
}

std::string asked_by(const Json& subject) {
    const std::string origin = text_of(subject, "origin");
    if (origin == "daemon")
        return "gpuhostd, at its start";
    const std::string unit = text_of(subject, "unit");
    const std::string program =
        text_of(subject, "command") + " (pid " + std::to_string(base::int_or(subject, "pid", 0)) + ")";
    if (origin == "cluster" || origin == "unit")
        return (origin == "cluster" ? "the cluster, by " : "the unit ") + unit + " with " + program;
    const bool other_login = base::member(subject, "login_uid").is_number() &&
                             base::member(subject, "login_uid") != base::member(subject, "uid");
    return user_name(subject, "user", "uid") +
           (other_login ? ", logged in as " + user_name(subject, "login_user", "login_uid") + "," : "") +
           " with " + program + (unit.empty() ? "" : " in " + unit);
}

std::string allowed_by(const Json& subject) {
    const std::string by = text_of(subject, "allowed_by");
    const std::string action = text_of(subject, "action");
    if (by == "polkit")
        return "polkit, " + action;
    return by == "user" ? "user " + text_of(subject, "user") + ", who is always allowed" : "";
}

/// Returns the index of the last step that began, which is the one that failed: steps run in order and are
/// undone in reverse.
std::optional<std::size_t> failed_step(const Json& operation) {
    const Json& steps = list_of(operation, "steps");
    for (std::size_t i = steps.size(); i-- > 0;)
        if (const std::string state = base::string_or(steps[i], "state", "pending");
            state != "pending" && state != "skipped")
            return i;
    return std::nullopt;
}

/// Returns the word for the state of step `i`. After the end, no step is pending, a step that has only an
/// undo was not needed, and the step that failed is marked although it was undone.
std::string state_of_step(const Json& operation, std::size_t i) {
    const Json& step = list_of(operation, "steps")[i];
    const std::string state = text_of(step, "state");
    const std::string outcome = text_of(operation, "state");
    const bool ended = outcome != "running" && outcome != "undoing";
    if (state == "pending" && ended)
        return "not run";
    if (state == "done" && ended && base::bool_or(step, "undo_only", false))
        return "not needed";
    const bool failed = outcome == "refused" || outcome == "rolled-back" || outcome == "failed" ||
                        outcome == "incomplete" || outcome == "reboot-required";
    return state == "undone" && failed && failed_step(operation) == i ? "failed, undone" : state;
}

std::string named_step(const Json& operation, std::size_t i) {
    const Json& steps = list_of(operation, "steps");
    const auto [number, count] = position_of(steps, i);
    return "step " + std::to_string(number) + " of " + std::to_string(count) + ", " +
           text_of(steps[i], "summary");
}

Style style_of_step(std::string_view state) {
    if (state == "done")
        return Style::Good;
    if (state == "failed" || state == "failed, undone" || state == "undo-failed")
        return Style::Bad;
    return state == "pending" || state == "not run" || state == "not needed" || state == "skipped"
               ? Style::Dim
               : Style::Warn;
}

std::string headline(std::string_view state) {
    if (state == "refused")
        return "refused, nothing was changed";
    if (state == "failed")
        return "failed, nothing was changed";
    if (state == "rolled-back")
        return "failed and was rolled back, the host is as it was before";
    if (state == "cancelled")
        return "cancelled, the host is as it was before";
    if (state == "reboot-required")
        return "failed, a reboot is required";
    return "failed and is incomplete, it could not be rolled back";
}

/// Returns the sets of the driver store ("550.163.01/userland") that a step of the operation has added.
std::vector<std::string> sets_of(const Json& output) {
    const bool of_driver = output.contains("version"); // otherwise of the step store.publish, with paths
    const char* const imported =
        output.contains("taken") ? "taken" : "imported"; // the key was "taken" before 0.1.0
    return base::strings_or_empty(output, of_driver ? "sets" : imported);
}

/// Renders what an import or a build has added to the stores.
std::string what_came_in(const Json& operation) {
    std::string out;
    for (const Json& output : list_of(operation, "outputs")) {
        if (output.contains("written_blobs"))
            out += "  " + text_of(output, "name") + ", generation " +
                   std::to_string(number_of(output, "generation")) + ", signed by " +
                   text_of(output, "signer") + ": " + human_bytes(number_of(output, "written_bytes")) +
                   " in " + plural(number_of(output, "written_blobs"), "new blob", "new blobs") + ", " +
                   std::to_string(number_of(output, "present_blobs")) + " already in the store\n";
        for (const std::string& set : sets_of(output))
            out += "  " + printable(set) + "\n";
    }
    return out;
}

/// Returns the command for each imported or built version that a host with the running kernel `kernel` can
/// load or build.
std::string next_commands(const Json& operation, std::string_view kernel) {
    std::set<std::string> versions;
    for (const Json& output : list_of(operation, "outputs"))
        for (const std::string& set : sets_of(output))
            if (set.find("/modules/" + std::string(kernel) + "-") != std::string::npos ||
                set.find("/source/") != std::string::npos)
                versions.insert(printable(set.substr(0, set.find('/'))));
    std::string out;
    for (const std::string& version : versions)
        out += "Next: gpuhostctl upgrade " + version + "\n";
    return out;
}

std::string lines_of(const std::vector<std::string>& texts, const std::string& before) {
    std::string out;
    for (const std::string& text : texts)
        out += before + printable(text) + "\n";
    return out;
}

} // namespace

Style style_of_state(std::string_view state) {
    if (state == "committed" || state == "checked")
        return Style::Good;
    if (state == "incomplete" || state == "reboot-required")
        return Style::Bad;
    return state == "running" || state == "undoing" ? Style::Bold : Style::Warn;
}

std::string painted_state(const Screen& screen, std::string_view state) {
    return screen.paint(style_of_state(state), printable(state));
}

std::string render_operations(const Screen& screen, const std::vector<client::OperationRow>& rows,
                              std::uint64_t now_us) {
    if (rows.empty())
        return "";
    Table table({{"ID", Table::Align::Right},
                 {"BEGAN"},
                 {"TOOK", Table::Align::Right, 1},
                 {"STATE"},
                 {.title = "TITLE", .cut = true}});
    for (const client::OperationRow& row : rows)
        table.add({std::to_string(row.id),
                   human_ago(row.began_us, now_us),
                   row.ended_us > row.began_us ? human_span(row.ended_us - row.began_us) : "",
                   {printable(row.state), style_of_state(row.state)},
                   printable(row.title)});
    return table.render(screen);
}

std::string render_steps(const Screen& screen, const Json& operation) {
    const Json& steps = list_of(operation, "steps");
    std::vector<std::string> states;
    std::size_t width = 11; // "undo-failed"
    for (std::size_t i = 0; i < steps.size(); ++i) {
        states.push_back(state_of_step(operation, i));
        if (states.back().size() > width)
            width = states.back().size() + 1; // of several words: more than one space must follow
    }
    std::string out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto [number, count] = position_of(steps, i);
        const std::string shown = states[i] == "skipped" ? "" : std::to_string(number) + ".";
        const std::string lead = "  " + pad_left(shown, std::to_string(count).size() + 1) + " " +
                                 screen.paint(style_of_step(states[i]), pad_right(states[i], width)) + " ";
        out += hanging(screen, lead, text_of(steps[i], "summary")) + "\n";
    }
    return out;
}

std::string render_operation(const Screen& screen, const Json& operation, std::uint64_t now_us) {
    const std::uint64_t began = number_of(operation, "began_us");
    const std::uint64_t ended = number_of(operation, "ended_us");
    const Json& error = base::member(operation, "error");
    Facts facts;
    facts.add("Operation", std::to_string(number_of(operation, "id")) + ", " + text_of(operation, "title"));
    facts.add("State", painted_state(screen, text_of(operation, "state")));
    const Json& subject = base::member(operation, "subject");
    facts.add("Asked by", asked_by(subject));
    if (const std::string by = allowed_by(subject); !by.empty())
        facts.add("Allowed by", by);
    facts.add("Began", human_time(began) + ", " + human_ago(began, now_us));
    if (ended >= began && ended != 0)
        facts.add("Took", human_span(ended - began));
    if (const std::string text = text_of(operation, "text"); ended == 0 && !text.empty())
        facts.add("Now", text);
    if (error.is_object()) {
        facts.add("Cause", text_of(error, "message"));
        if (const std::string hint = text_of(error, "hint"); !hint.empty())
            facts.add("Hint", hint);
    }
    const Json& problems = list_of(operation, "problems");
    const auto section = [&](const std::string& name, const std::vector<std::string>& texts) {
        return texts.empty() ? "" : fit(screen, "\n" + name + ":\n" + lines_of(texts, "  "));
    };
    return facts.render(screen) +
           (problems.empty() ? "" : "\nProblems:\n" + render_problems(screen, problems)) +
           section("Warnings", warnings_of(operation)) + section("Notes", notes_of(operation)) +
           section("Terminated", terminated_by(operation)) + "\nSteps:\n" + render_steps(screen, operation);
}

std::string render_success(const Screen& screen, const Json& operation, std::string_view kernel, bool next) {
    const std::uint64_t began = number_of(operation, "began_us");
    const std::uint64_t ended = number_of(operation, "ended_us");
    const bool worth_saying = ended > began && ended - began >= 100'000;
    return fit(screen,
               text_of(operation, "title") + ": " + screen.paint(Style::Good, "done") +
                   (worth_saying ? " in " + human_span(ended - began) : "") + "\n" +
                   lines_of(warnings_of(operation), screen.paint(Style::Warn, "Warning:") + " ") +
                   lines_of(screen.quiet ? std::vector<std::string>() : notes_of(operation), "Note: ") +
                   lines_of(terminated_by(operation), "Terminated: ") + what_came_in(operation) +
                   (next ? next_commands(operation, kernel) : ""));
}

std::string render_failure(const Screen& screen, const Json& operation, std::string_view running_driver) {
    const std::string state = text_of(operation, "state");
    const Json& error = base::member(operation, "error");
    const Json& problems = list_of(operation, "problems");
    const std::string out = fit(screen, screen.paint(Style::Bad, "gpuhostctl:") + " " +
                                            text_of(operation, "title") + ": " + headline(state) + "\n");
    if (!problems.empty())
        return out + render_problems(screen, problems);
    Facts facts;
    const auto step = failed_step(operation);
    if (step && state != "cancelled" && state != "refused")
        facts.add("  Failed", "in " + named_step(operation, *step));
    if (const std::string cause = text_of(error, "message"); !cause.empty() && cause != state)
        facts.add("  Cause", cause);
    for (const std::string& note : notes_of(operation))
        facts.add("  Note", printable(note));
    for (const std::string& processes : terminated_by(operation))
        facts.add("  Terminated", printable(processes));
    if (!running_driver.empty() && changes_host(operation) && state != "refused")
        facts.add("  Runs now", "driver " + printable(running_driver));
    const std::string hint = text_of(error, "hint");
    const std::string id = std::to_string(number_of(operation, "id"));
    return out + facts.render(screen) +
           fit(screen,
               screen.paint(Style::Bold, "Hint:") + " " +
                   (hint.empty() ? "See: gpuhostctl operation show " + id + "; journalctl -u gpuhostd."
                                 : hint) +
                   "\n");
}

int operation_exit_status(const Json& operation) {
    const std::string state = base::string_or(operation, "state", "");
    const Json& problems = list_of(operation, "problems");
    const Errc cause =
        base::errc_from_name(base::string_or(base::member(operation, "error"), "code", "failed"));
    if (state == "committed" || state == "checked")
        return 0;
    if (state == "refused")
        return problems.empty() ? base::info(cause).exit_code : problems_exit_status(problems);
    if (state == "failed")
        return base::info(cause).exit_code;
    if (state == "rolled-back")
        return base::info(Errc::RolledBack).exit_code;
    if (state == "cancelled")
        return base::info(Errc::Cancelled).exit_code;
    if (state == "reboot-required")
        return base::info(Errc::RebootRequired).exit_code;
    return base::info(Errc::Failed).exit_code;
}

} // namespace gpuhost::ctl
