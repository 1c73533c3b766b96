// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/help.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>
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

} // namespace

std::string general_help(const Screen& screen, std::string_view topic) {
    if (!topic.empty())
        return usage(screen, std::string(topic) + " VERB …") +
               section(screen, "Verbs:", spelled(verbs_below(topic))) + "\n'gpuhostctl " +
               std::string(topic) + " VERB --help' describes a verb and its options.\n";
    std::string out = usage(screen, "[OPTION…] VERB …") +
                      "\nShows and changes the driver, the images and the container GPUs of this host.\n";
    for (const Family& family : families())
        out += section(screen, family.heading, spelled(family.verbs));
    return out + section(screen, "Options of every verb:", spelled(common_options())) +
           "\n'gpuhostctl VERB --help' describes a verb; gpuhostctl(1) has the details.\n";
}

std::string verb_help(const Screen& screen, const Verb& verb) {
    Lines options = spelled(verb.options);
    for (auto& line : spelled(common_options()))
        options.push_back(std::move(line));
    return usage(screen, with_arguments(verb, verb.options.empty() ? "" : " [OPTION…]")) + "\n" +
           wrap(verb.details, columns_of(screen), 0, 0) + "\n" + section(screen, "Options:", options);
}

} // namespace gpuhost::ctl
