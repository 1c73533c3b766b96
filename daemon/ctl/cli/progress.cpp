// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/progress.hpp"

#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

namespace gpuhost::ctl {

using base::Json;

namespace {

constexpr std::size_t bar_width = 24;

std::string position(const Json& steps, std::size_t step) {
    const auto [number, count] = position_of(steps, step);
    return std::to_string(number) + "/" + std::to_string(count) + " ";
}

/// Returns what the operation does now: the step's summary with details if that fits into `columns`, else
/// only the details.
std::string phrase(const Json& operation, std::size_t columns) {
    const Json& steps = list_of(operation, "steps");
    std::string text = text_of(operation, "text");
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::string state = text_of(steps[i], "state");
        if (state != "running" && state != "undoing")
            continue;
        const std::string summary = text_of(steps[i], "summary");
        if (text.find(summary) != std::string::npos) // the text contains the summary, as in "undoing: …"
            return position(steps, i) + text;
        const std::string lead = position(steps, i) + (state == "undoing" ? "undoing: " : "");
        const std::string both = lead + summary + (text.empty() ? "" : ": " + text);
        return text.empty() || text_width(both) <= columns ? both : lead + text;
    }
    return text;
}

bool was_begun(std::string_view state) {
    return state != "pending" && state != "skipped";
}

bool goes_back(std::string_view state) {
    return state == "undoing" || state == "undone" || state == "undo-failed";
}

} // namespace

std::string bar(double fraction) {
    const auto filled = static_cast<std::size_t>(fraction * bar_width);
    std::string text(filled, '=');
    if (filled < bar_width)
        text += '>';
    return "[" + pad_right(text, bar_width) + "]";
}

std::string progress_bar(const Screen& screen, const Json& operation) {
    const double fraction = progress_of(operation);
    const std::string percent = pad_left(std::to_string(static_cast<int>(fraction * 100)), 3) + "% ";
    const std::string with_bar = percent + bar(fraction) + " ";
    // Leaves one column free, because some terminals wrap as soon as the last column is written.
    const std::size_t columns = std::max<std::size_t>(screen.columns, 2) - 1;
    const std::string& lead = columns < text_width(with_bar) + 20 ? percent : with_bar;
    const std::size_t left = columns - std::min(columns, text_width(lead));
    return elide(lead + phrase(operation, left), columns);
}

std::string progress_lines(const Json& operation, SeenSteps& seen) {
    const Json& steps = list_of(operation, "steps");
    std::string out;
    const auto say = [&](std::size_t i, std::string_view how) {
        out += position(steps, i) + std::string(how) + printable(base::string_or(steps[i], "summary", "")) +
               "\n";
    };
    bool runs = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::string state = base::string_or(steps[i], "state", "pending");
        // All steps of a group are running. Those after the first one may become skipped, which changes the
        // numbers.
        if (state == "running" && std::exchange(runs, true))
            continue;
        if (was_begun(state) && seen.forth.insert(i).second)
            say(i, "");
    }
    for (std::size_t i = steps.size(); i-- > 0;) // in the order of the undo
        if (changes_host(operation) && goes_back(base::string_or(steps[i], "state", "")) &&
            seen.back.insert(i).second)
            say(i, "undoing: ");
    return out;
}

void Progress::finish(const Json& operation) {
    if (mode_ == Mode::Lines)
        update(operation);
    clear();
}

void Progress::update(const Json& operation) {
    if (mode_ == Mode::Silent)
        return;
    if (mode_ == Mode::Lines) {
        std::fputs(progress_lines(operation, seen_).c_str(), stderr);
        return;
    }
    screen_.columns = screen_of(STDERR_FILENO).columns; // read again, since the window may have been resized
    std::fputs(("\r" + progress_bar(screen_, operation) + "\033[K").c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
}

void Progress::clear() {
    if (!std::exchange(drawn_, false))
        return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

} // namespace gpuhost::ctl
