// SPDX-License-Identifier: Apache-2.0
// Uses the syntax of zsh's _arguments and _describe.
#include "daemon/base/parse.hpp"
#include "daemon/ctl/completion.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::ctl {
namespace {

using Words = std::vector<std::string>;

std::string quote(std::string_view text) {
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? "'\\''" : std::string{c};
    return out + "'";
}

std::string escaped(std::string_view text, std::string_view which) {
    std::string out;
    for (const char c : text)
        out += (which.find(c) == std::string_view::npos ? "" : "\\") + std::string{c};
    return out;
}

/// Returns an element of an associative array. The lines become one string, because zsh has no arrays as
/// values.
std::string entry(std::string_view key, const Words& lines) {
    return "    " + quote(key) + " " + quote(base::join(lines, "\n")) + "\n";
}

std::string table(const std::string& name, const std::string& entries) {
    return "typeset -gA _gpuhostctl_" + name + "=(\n" + entries + ")\n";
}

std::string list(const std::string& name, const Words& words) {
    std::string out = "typeset -ga _gpuhostctl_" + name + "=(\n";
    for (const std::string& word : words)
        out += "    " + quote(word) + "\n";
    return out + ")\n";
}

/// Returns a message and an action of _arguments: ":VERSION:_gpuhostctl_listed driver".
std::string value(std::string_view called, const std::string& by) {
    const Words words = base::split_words(by);
    const std::string rest = words.size() < 2 ? "" : by.substr(words[0].size() + 1);
    std::string action = " ";
    if (!words.empty() && words[0] == "words")
        action = "(" + rest + ")";
    else if (!words.empty() && words[0] == "file")
        action =
            rest.empty() ? "_files" : "_files -g \"*.(" + base::join(base::split(rest, ' '), "|") + ")\"";
    else if (!words.empty())
        action = words[0] == "directory" ? "_files -/" : "_gpuhostctl_listed " + by;
    return ":" + escaped(called, ":\\") + ":" + action;
}

std::string spec(const Option& option, const std::string& name, const char* before_value) {
    std::string out = option.repeatable ? "*"
                      : option.letter == 0
                          ? ""
                          : "(-" + std::string{option.letter} + " --" + std::string(option.name) + ")";
    out += name;
    if (!option.argument.empty())
        out += option.argument_optional ? "=-" : before_value;
    out += "[" + escaped(option.help, "[]\\") + "]";
    if (!option.argument.empty())
        out +=
            (option.argument_optional ? ":" : "") + value(option.argument, completed_by(option).value_or(""));
    return out;
}

Words specs(std::span<const Option> options) {
    Words all;
    for (const Option& option : options) {
        all.push_back(spec(option, "--" + std::string(option.name), "="));
        if (option.letter != 0)
            all.push_back(spec(option, std::string{'-', option.letter}, "+"));
    }
    return all;
}

Words argument(const Verb& verb) {
    if (verb.most == 0)
        return {};
    return {(verb.most == 1 ? "1" : "*") + value(verb.arguments, completed_by(verb).value_or(""))};
}

/// Returns the second words of the verbs, with their first word as the key. The key "" has all first words:
/// "status:…" for a verb of one word, "driver:import, adopt, …" for a group of verbs.
std::vector<std::pair<std::string, Words>> next_words() {
    std::vector<std::pair<std::string, Words>> all{{"", {}}};
    for (const Verb* verb : verbs()) {
        const Words words = base::split_words(verb->name);
        if (words.size() > 1 && all.back().first != words[0])
            all.push_back({words[0], {}});
        all[words.size() > 1 ? all.size() - 1 : 0].second.push_back(words.back() + ":" +
                                                                    std::string(verb->summary));
    }
    for (auto it = std::next(all.begin()); it != all.end(); ++it) {
        Words below;
        for (const std::string& line : it->second)
            below.push_back(line.substr(0, line.find(':')));
        all.front().second.push_back(it->first + ":" + base::join(below, ", "));
    }
    return all;
}

Words names_with_value() {
    Words names;
    for (const Verb* verb : verbs())
        for (const Option& option : verb->options)
            if (!option.argument.empty() && !option.argument_optional) {
                names.push_back("--" + std::string(option.name));
                if (option.letter != 0)
                    names.push_back({'-', option.letter});
            }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

} // namespace

std::string zsh_tables() {
    std::string words;
    std::string options;
    std::string arguments;
    for (const auto& [before, next] : next_words())
        words += entry(before, next);
    for (const Verb* verb : verbs()) {
        options += entry(verb->name, specs(verb->options));
        arguments += entry(verb->name, argument(*verb));
    }
    return table("words", words) + table("options", options) + table("arguments", arguments) +
           list("common", specs(common_options())) + list("with_value", names_with_value());
}

} // namespace gpuhost::ctl
