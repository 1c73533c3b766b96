// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor/view.hpp"

#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>

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

} // namespace

std::string render_diagnosis(const Screen& screen, const Json& diagnosis) {
    constexpr std::size_t result_width = 7;
    const Json& checks = list_of(diagnosis, "checks");
    std::size_t name_width = 0;
    for (const Json& check : checks)
        name_width = std::max(name_width, text_width(text_of(check, "check")));
    std::string out;
    for (const Json& check : checks) {
        const std::string result = text_of(check, "result");
        out += screen.paint(style_of(result), pad_right(result, result_width)) + "  " +
               pad_right(text_of(check, "check"), name_width) + "  " + text_of(check, "text") + "\n";
        if (const std::string next = text_of(check, "next"); !next.empty())
            out += std::string(result_width + 2 + name_width + 2, ' ') + "Next: " + next + "\n";
    }
    return out + "\n" + plural(count(checks, "error"), "error", "errors") + ", " +
           plural(count(checks, "warning"), "warning", "warnings") + "\n";
}

} // namespace gpuhost::ctl
