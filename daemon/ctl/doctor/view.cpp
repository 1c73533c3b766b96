// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor/view.hpp"

#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace gpuhost::ctl {

using base::Json;

namespace {

Style style_of(const std::string& result) {
    if (result == "ok")
        return Style::Good;
    if (result == "error")
        return Style::Bad;
    return result == "warning" ? Style::Warn : Style::Dim;
}

std::size_t count(const Json& checks, const char* result) {
    return static_cast<std::size_t>(std::count_if(checks.begin(), checks.end(), [&](const Json& check) {
        return base::string_or(check, "result", "") == result;
    }));
}

/// Returns the checks with the worst first, in their order otherwise. Omits skipped ones unless `all`.
std::vector<Json> by_severity(const Json& checks, bool all) {
    std::vector<Json> sorted;
    for (const char* result : {"error", "warning", "ok", "skipped"})
        if (all || std::string_view(result) != "skipped")
            std::copy_if(checks.begin(), checks.end(), std::back_inserter(sorted),
                         [&](const Json& check) { return base::string_or(check, "result", "") == result; });
    return sorted;
}

std::string footer(const Json& checks, bool all) {
    const std::size_t skipped = count(checks, "skipped");
    return plural(count(checks, "error"), "error", "errors") + ", " +
           plural(count(checks, "warning"), "warning", "warnings") + "\n" +
           (all || skipped == 0
                ? ""
                : plural(skipped, "check", "checks") + " skipped (show them: gpuhostctl doctor --all)\n");
}

} // namespace

std::string render_diagnosis(const Screen& screen, const Json& diagnosis, bool all) {
    constexpr std::size_t result_width = 7;
    const Json& checks = list_of(diagnosis, "checks");
    std::size_t name_width = 0;
    for (const Json& check : checks)
        name_width = std::max(name_width, text_width(text_of(check, "check")));
    std::string out;
    for (const Json& check : by_severity(checks, all)) {
        const std::string result = text_of(check, "result");
        const std::string lead = screen.paint(style_of(result), pad_right(result, result_width)) + "  " +
                                 pad_right(text_of(check, "check"), name_width) + "  ";
        out += hanging(screen, lead, text_of(check, "text")) + "\n";
        if (const std::string next = text_of(check, "next"); !next.empty())
            out += hanging(screen, std::string(visible_width(lead), ' '), "Next: " + next) + "\n";
    }
    return screen.legend ? out + "\n" + footer(checks, all) : out;
}

} // namespace gpuhost::ctl
