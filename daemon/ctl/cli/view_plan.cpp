// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/error.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;

namespace {

std::string number(std::size_t index, std::size_t count) {
    return pad_left(std::to_string(index + 1), std::to_string(count).size()) + ". ";
}

std::string reasons(const Json& plan) {
    std::string out;
    for (const std::string& reason : base::strings_or_empty(plan, "reasons"))
        out += "  " + printable(reason) + "\n";
    return out;
}

std::string nothing_to_do(const Json& plan) {
    const bool removes = text_of(plan, "kind") == "driver.clean";
    const std::string none = removes ? "Nothing to remove" : "Nothing to do";
    const std::string why = reasons(plan);
    if (std::count(why.begin(), why.end(), '\n') == 1)
        return none + ": " + why.substr(2);
    if (removes)
        return none + (why.empty() ? ".\n" : ":\n" + why);
    return none + ": the host is up to date.\n" + why;
}

std::string undecided_of(const Screen& screen, const Json& plan) {
    const Json& undecided = base::member(plan, "undecided");
    return undecided.is_object() ? screen.paint(Style::Bad, "To decide:") + "\n" +
                                       render_problems(screen, Json::array({undecided}))
                                 : "";
}

std::string steps_of(const Json& plan) {
    const Json& steps = list_of(plan, "steps");
    std::string out;
    for (std::size_t i = 0; i < steps.size(); ++i)
        out += "  " + number(i, steps.size()) + text_of(steps[i], "summary") + "\n";
    return out;
}

} // namespace

std::string render_problems(const Screen& screen, const Json& problems) {
    const bool several = problems.size() > 1;
    std::string out;
    for (std::size_t i = 0; i < problems.size(); ++i) {
        const std::string lead = "  " + (several ? number(i, problems.size()) : std::string());
        const std::string hint = text_of(problems[i], "hint");
        out += hanging(screen, lead, text_of(problems[i], "text")) + "\n";
        // Consecutive problems may have the same hint, for example processes that use the driver. Then it is
        // shown once, after the last.
        const bool next_has_it = i + 1 < problems.size() && text_of(problems[i + 1], "hint") == hint;
        if (!hint.empty() && !next_has_it)
            out += hanging(screen, std::string(text_width(lead), ' '),
                           screen.paint(Style::Bold, "Hint:") + " " + hint) +
                   "\n";
    }
    return out;
}

std::string render_plan(const Screen& screen, const Json& plan) {
    const Json& problems = list_of(plan, "problems");
    const Json& steps = list_of(plan, "steps");
    std::string out;
    if (const std::string upgrade = text_of(plan, "upgrade"); !upgrade.empty())
        out = "The cluster's policy selects driver " + upgrade +
              " for this host: apply requests the upgrade from gpuhost-cluster.\n";
    if (steps.empty() && problems.empty())
        return fit(screen, out.empty() ? nothing_to_do(plan) + undecided_of(screen, plan) : out);
    out +=
        (out.empty() ? "" : "\n") + screen.paint(Style::Bold, text_of(plan, "title")) + "\n" + reasons(plan);
    if (!steps.empty())
        out += "\n" + plural(steps.size(), "step", "steps") + ":\n" + steps_of(plan);
    if (!problems.empty())
        out += "\n" + screen.paint(Style::Bad, plural(problems.size(), "problem blocks", "problems block")) +
               " this:\n" + render_problems(screen, problems);
    else if (base::bool_or(plan, "checked", false))
        out += "\nChecked on this host: no problems found.\n";
    else if (changes_host(plan)) // planning reads neither file contents nor processes: they are checked later
        out += "\nFiles, space and holders of the driver are checked at the start, before any change.\n";
    for (const std::string& warning : base::strings_or_empty(plan, "warnings"))
        out += screen.paint(Style::Warn, "Warning:") + " " + printable(warning) + "\n";
    for (const std::string& note : base::strings_or_empty(plan, "notes"))
        out += screen.quiet ? "" : "Note: " + printable(note) + "\n";
    const std::string undecided = undecided_of(screen, plan);
    return fit(screen, out + (undecided.empty() ? "" : "\n" + undecided));
}

std::string render_refusal(const Screen& screen, const Json& plan) {
    const Json& problems = list_of(plan, "problems");
    return fit(screen, screen.paint(Style::Bad, "gpuhostctl:") + " " + text_of(plan, "title") +
                           ": refused, nothing was changed; " +
                           plural(problems.size(), "problem", "problems") + ":\n") +
           render_problems(screen, problems);
}

int problems_exit_status(const Json& problems) {
    const auto code_of = [](const Json& problem) {
        return base::errc_from_name(base::string_or(problem, "code", base::info(Errc::Refused).name.data()));
    };
    if (problems.empty())
        return base::info(Errc::Refused).exit_code;
    const Errc first = code_of(problems[0]);
    const bool same = std::all_of(problems.begin(), problems.end(),
                                  [&](const Json& problem) { return code_of(problem) == first; });
    return base::info(same ? first : Errc::Refused).exit_code;
}

int plan_exit_status(const Json& plan) {
    if (const Json& problems = list_of(plan, "problems"); !problems.empty())
        return problems_exit_status(problems);
    const Json& undecided = base::member(plan, "undecided");
    return undecided.is_object() ? problems_exit_status(Json::array({undecided})) : 0;
}

} // namespace gpuhost::ctl
