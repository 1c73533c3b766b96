// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/completion.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::ctl {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

std::string table(const std::string& name, const Lines& lines) {
    std::string out = "declare -A _gpuhostctl_" + name + "=(\n";
    for (const auto& [key, value] : lines)
        out += "    [\"" + key + "\"]=\"" + value + "\"\n";
    return out + ")\n";
}

/// Returns the names of the options. A "=" after a name means that the value may be a separate word.
std::string spelled(std::span<const Option> options) {
    std::vector<std::string> words;
    for (const Option& option : options)
        words.push_back("--" + std::string(option.name) +
                        (option.argument.empty() || option.argument_optional ? "" : "="));
    return base::join(words, " ");
}

/// Returns how to complete the values of options. The key is the option's name alone, because options may
/// precede the verb.
Lines values() {
    Lines lines;
    for (const Verb* verb : verbs())
        for (const Option& option : verb->options) {
            std::pair line{"--" + std::string(option.name), completed_by(option).value_or("")};
            if (!line.second.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
                lines.push_back(std::move(line));
        }
    return lines;
}

} // namespace

std::string bash_tables() {
    Lines options;
    Lines arguments;
    for (const Verb* verb : verbs()) {
        options.emplace_back(verb->name, spelled(verb->options));
        if (const std::string by = completed_by(*verb).value_or(""); !by.empty())
            arguments.emplace_back(verb->name, by);
    }
    return table("verbs", options) + table("arguments", arguments) + table("values", values()) +
           "_gpuhostctl_common=\"" + spelled(common_options()) + "\"\n";
}

} // namespace gpuhost::ctl
