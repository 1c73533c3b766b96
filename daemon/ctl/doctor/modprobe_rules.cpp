// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor/modprobe_rules.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::ctl {

namespace {

/// Replaces '-' by '_', because modprobe treats both as equal.
std::string with_underscores(std::string module) {
    std::replace(module.begin(), module.end(), '-', '_');
    return module;
}

/// Removes the first line from `text` and returns it. A backslash at the end of a line joins the next line.
std::string read_line(std::string_view& text) {
    std::string line;
    for (bool goes_on = true; goes_on && !text.empty();) {
        const std::string_view part = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        goes_on = base::ends_with(part, "\\");
        line += std::string(part.substr(0, part.size() - (goes_on ? 1 : 0))) + " ";
    }
    return line;
}

} // namespace

std::vector<ModprobeRule> modprobe_rules(std::string_view text, const std::string& file) {
    std::vector<ModprobeRule> rules;
    while (!text.empty()) {
        const auto words = base::split_words(read_line(text));
        if (words.size() < 2 || (words[0] != "install" && words[0] != "blacklist"))
            continue;
        const std::string module = with_underscores(words[1]);
        if (module == "nouveau" || module == "nvidia" || base::starts_with(module, "nvidia_"))
            rules.push_back({file, words[0], module});
    }
    return rules;
}

bool command_line_blocks_nouveau(std::string_view line) {
    for (const std::string& word : base::split_words(line)) {
        const auto at = word.find('=');
        const std::string key = word.substr(0, at);
        if (at == std::string::npos)
            continue;
        if (key == "nouveau.modeset" && word.substr(at + 1) == "0")
            return true;
        if (key != "module_blacklist" && key != "modprobe.blacklist")
            continue;
        const std::string list = "," + word.substr(at + 1) + ",";
        if (list.find(",nouveau,") != std::string::npos)
            return true;
    }
    return false;
}

} // namespace gpuhost::ctl
