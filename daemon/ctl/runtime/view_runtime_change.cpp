// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/runtime/view_runtime_change.hpp"

#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/line_diff.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Json;

namespace {

Style style_of_line(const std::string& line) {
    switch (line.front()) {
    case '+':
        return Style::Good;
    case '-':
        return Style::Bad;
    case '@':
    case '\\':
        return Style::Dim;
    default:
        return Style::Plain;
    }
}

/// Returns a line of a file for display. Replaces tabs by blanks, because printable() would treat them as
/// control characters.
std::string shown_line(const std::string& line) {
    std::string spread;
    for (const char c : line)
        spread += c == '\t' ? std::string(4, ' ') : std::string(1, c);
    std::string shown = printable(spread);
    shown.erase(shown.find_last_not_of(' ') + 1);
    return shown;
}

std::string indented(const std::string& line) {
    return line.empty() ? "\n" : "    " + line + "\n";
}

std::string what_becomes_of(const Json& file) {
    if (text_of(file, "action") == "remove")
        return " (removed)";
    return base::member(file, "before").is_string() ? "" : " (new)";
}

std::string file_lines(const Screen& screen, const Json& file) {
    std::string out = "  " + screen.paint(Style::Bold, text_of(file, "path")) + what_becomes_of(file) + "\n";
    for (const std::string& line :
         line_diff(base::string_or(file, "before", ""), base::string_or(file, "after", "")))
        out += indented(screen.paint(style_of_line(line), shown_line(line)));
    return out;
}

/// Returns the words before the sentence about a runtime, for an outcome other than a plain change.
std::string lead(const Screen& screen, const std::string& outcome) {
    if (outcome == "nothing")
        return "nothing to do";
    if (outcome == "refused")
        return screen.paint(Style::Bad, "refused");
    return outcome == "by-hand" ? screen.paint(Style::Warn, "by hand") : "";
}

std::string heading(const Screen& screen, const Json& runtime) {
    const std::string before = lead(screen, text_of(runtime, "outcome"));
    const std::string text = text_of(runtime, "text");
    return fit(screen, screen.paint(Style::Bold, text_of(runtime, "name")) + ": " + before +
                           (before.empty() || text.empty() ? "" : ": ") + text + "\n");
}

std::string problem_lines(const Screen& screen, const Json& runtime) {
    const Json& problem = base::member(runtime, "problem");
    const std::string message = text_of(problem, "message");
    const std::string hint = text_of(problem, "hint");
    std::string out;
    if (!message.empty() && message != text_of(runtime, "text"))
        out += "  " + screen.paint(Style::Bad, message) + "\n";
    if (!hint.empty())
        out += "  " + screen.paint(Style::Bold, "Hint:") + " " + hint + "\n";
    return fit(screen, out);
}

std::string planned(const Screen& screen, const Json& runtime) {
    std::string out = heading(screen, runtime);
    if (text_of(runtime, "outcome") == "nothing")
        return out;
    for (const std::string& reason : base::strings_or_empty(runtime, "reasons"))
        out += fit(screen, "  " + printable(reason) + "\n");
    out += problem_lines(screen, runtime);
    for (const Json& file : list_of(runtime, "files"))
        out += file_lines(screen, file);
    if (text_of(runtime, "restart") != "none")
        if (const std::string restart = text_of(runtime, "restart_text"); !restart.empty())
            out += fit(screen, "  " + screen.paint(Style::Bold, "Restart:") + " " + restart + "\n");
    return out;
}

std::string good_or_bad(const Screen& screen, const Json& checked) {
    return base::bool_or(checked, "ok", false) ? screen.paint(Style::Good, "good")
                                               : screen.paint(Style::Bad, "bad");
}

std::string checks_of(const Screen& screen, const Json& runtime) {
    std::string out =
        screen.paint(Style::Bold, text_of(runtime, "name")) + ": " + good_or_bad(screen, runtime) + "\n";
    for (const Json& check : list_of(runtime, "checks")) {
        const bool ok = base::bool_or(check, "ok", false);
        const std::string text = text_of(check, "text");
        const std::string lead = "  " + good_or_bad(screen, check) + (ok ? "  " : "   ");
        out += hanging(screen, lead, text_of(check, "name") + (text.empty() ? "" : ": ") + text) + "\n";
    }
    return out;
}

std::string painted_runtime_state(const Screen& screen, const std::string& state) {
    if (state == "ready")
        return screen.paint(Style::Good, state);
    if (state == "problem")
        return screen.paint(Style::Bad, state);
    return state == "by-hand" ? screen.paint(Style::Warn, "by hand") : state;
}

std::string state_line(const Screen& screen, const Json& runtime) {
    const std::string text = text_of(runtime, "text");
    std::string line =
        text_of(runtime, "name") + " " + painted_runtime_state(screen, text_of(runtime, "state"));
    if (!text.empty())
        line += ": " + text;
    if (base::bool_or(runtime, "restart_wanted", false))
        line += ", " + screen.paint(Style::Warn, "needs a restart");
    return line;
}

} // namespace

std::string render_runtime_plan(const Screen& screen, const Json& plan) {
    const Json& runtimes = list_of(plan, "runtimes");
    std::string out;
    bool gap = false;
    for (const Json& runtime : runtimes) {
        const std::string text = planned(screen, runtime);
        const bool several_lines = std::count(text.begin(), text.end(), '\n') > 1;
        out += (gap || (several_lines && !out.empty()) ? "\n" : "") + text;
        gap = several_lines;
    }
    return out;
}

std::string render_runtime_checks(const Screen& screen, const Json& checked) {
    const Json& runtimes = list_of(checked, "runtimes");
    std::string out;
    for (const Json& runtime : runtimes)
        out += checks_of(screen, runtime);
    return out;
}

void add_runtime_lines(Facts& facts, const Screen& screen, const Json& observed) {
    std::string label = "Runtimes";
    const auto add = [&](const std::string& value) {
        facts.add(label, value);
        label.clear();
    };
    if (!base::bool_or(observed, "configure", true))
        add("are configured by hand (Manage=no in section [Runtime])");
    for (const Json& runtime : list_of(observed, "runtimes"))
        add(state_line(screen, runtime));
    for (const std::string& path : base::strings_or_empty(observed, "changed"))
        add(printable(path) + " was changed by another program");
}

} // namespace gpuhost::ctl
