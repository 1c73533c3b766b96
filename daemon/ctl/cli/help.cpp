// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/help.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace gpuhost::ctl {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>; ///< syntax and description

std::string spelled(const Option& option) {
    std::string text = option.letter == 0 ? "    --" : std::string{'-', option.letter} + ", --";
    text += option.name;
    if (!option.argument.empty())
        text += option.argument_optional ? "[=" + std::string(option.argument) + "]"
                                         : "=" + std::string(option.argument);
    return text;
}

Lines spelled(std::span<const Option> options) {
    Lines lines;
    for (const Option& option : options)
        lines.emplace_back(spelled(option),
                           std::string(option.help) + (option.repeatable ? "; repeatable" : ""));
    return lines;
}

std::string usage(const Screen& screen, std::string_view rest) {
    return screen.paint(Style::Bold, "Usage:") + " gpuhostctl " + std::string(rest) + "\n";
}

std::size_t columns_of(const Screen& screen) {
    return std::min<std::size_t>(screen.columns, 100);
}

/// Formats two columns. If a text of the first column is too long, the second column starts on the next line.
std::string section(const Screen& screen, std::string_view title, const Lines& lines) {
    const std::size_t widest = std::min<std::size_t>(48, columns_of(screen) / 2);
    std::size_t width = 0;
    for (const auto& [left, right] : lines)
        if (text_width(left) <= widest)
            width = std::max(width, text_width(left));
    std::string out = "\n" + screen.paint(Style::Bold, title) + "\n";
    for (const auto& [left, right] : lines)
        out += "  " +
               (text_width(left) <= width
                    ? pad_right(left, width)
                    : wrap(left, columns_of(screen), 2, 6) + "\n" + std::string(width + 2, ' ')) +
               "  " + wrap(right, columns_of(screen), width + 4, width + 4) + "\n";
    return out;
}

/// Returns a verb with its arguments, "driver swap VERSION", with `options` after the verb.
std::string with_arguments(const Verb& verb, std::string_view options) {
    return std::string(verb.name) + std::string(options) + (verb.arguments.empty() ? "" : " ") +
           std::string(verb.arguments);
}

Lines spelled(std::span<const Verb* const> verbs) {
    Lines lines;
    for (const Verb* verb : verbs)
        lines.emplace_back(with_arguments(*verb, ""), verb->summary);
    return lines;
}

std::vector<const Verb*> verbs_below(std::string_view topic) {
    std::vector<const Verb*> below = verbs();
    std::erase_if(below,
                  [&](const Verb* verb) { return !base::starts_with(verb->name, std::string(topic) + " "); });
    return below;
}

/// Returns the names of verbs and their summaries, for lines that need no argument.
Lines named(std::span<const Verb* const> verbs) {
    Lines lines;
    for (const Verb* verb : verbs)
        lines.emplace_back(verb->name, verb->summary);
    return lines;
}

std::string examples_of(const Screen& screen, std::span<const Example> examples) {
    std::string out = "\n" + screen.paint(Style::Bold, "Examples:") + "\n";
    for (const Example& example : examples)
        out += "  # " + wrap(std::string(example.comment), columns_of(screen), 4, 4) + "\n  gpuhostctl " +
               std::string(example.command) + "\n";
    return out;
}

constexpr std::array general_examples{
    Example{"driver swap 550.163.01 --dry-run",
            "show the steps of a swap, and what blocks it; change nothing"},
    Example{"help driver swap", "describe a verb, its options, and examples"},
};

} // namespace

std::span<const Example> short_examples() noexcept {
    return general_examples;
}

std::string short_help(const Screen& screen) {
    std::string out = usage(screen, "[OPTION…] VERB …") +
                      "\nShows and changes the driver, the images and the container GPUs of this host.\n";
    for (const Family& group : common_families())
        out += section(screen, group.heading, named(group.verbs));
    return out + section(screen, "Options of every verb:", spelled(common_options())) +
           examples_of(screen, general_examples) + "\ngpuhostctl help --all lists all verbs.\n";
}

std::string full_help(const Screen& screen) {
    std::string out = usage(screen, "[OPTION…] VERB …");
    for (const Family& family : families())
        out += section(screen, family.heading, spelled(family.verbs));
    return out + section(screen, "Options of every verb:", spelled(common_options())) +
           "\ngpuhostctl help VERB describes a verb; gpuhostctl(1) has the details.\n";
}

std::string noun_help(const Screen& screen, std::string_view noun) {
    return usage(screen, std::string(noun) + " VERB …") +
           section(screen, "Verbs:", spelled(verbs_below(noun))) + "\ngpuhostctl help " + std::string(noun) +
           " VERB describes a verb.\n";
}

std::string verb_help(const Screen& screen, const Verb& verb) {
    Lines options = spelled(verb.options);
    for (auto& line : spelled(common_options()))
        options.push_back(std::move(line));
    return usage(screen, with_arguments(verb, verb.options.empty() ? "" : " [OPTION…]")) + "\n" +
           wrap(verb.details, columns_of(screen), 0, 0) + "\n" + section(screen, "Options:", options) +
           examples_of(screen, verb.examples);
}

std::string help_for(const Screen& screen, const Arguments& arguments) {
    if (arguments.verb() != nullptr)
        return verb_help(screen, *arguments.verb());
    return arguments.topic().empty() ? short_help(screen) : noun_help(screen, arguments.topic());
}

} // namespace gpuhost::ctl
