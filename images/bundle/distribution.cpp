// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/distribution.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::images {

namespace {

constexpr std::size_t longest = 64;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c);
}

/// Returns a value of os-release(5) without its quotes. The last assignment counts, as in a shell.
std::string value_of(const std::vector<std::string>& lines, std::string_view key) {
    std::string found;
    for (std::string_view line : lines) {
        if (!base::starts_with(line, key) || line.substr(key.size(), 1) != "=")
            continue;
        line.remove_prefix(key.size() + 1);
        if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'') && line.back() == line.front())
            line = line.substr(1, line.size() - 2);
        found = line;
    }
    return found;
}

} // namespace

OsRelease read_os_release(const base::Root& root) {
    auto text = root.read("/etc/os-release");
    if (!text)
        text = root.read("/usr/lib/os-release");
    const auto lines = base::split(text.value_or(""), '\n');
    return {value_of(lines, "ID"), value_of(lines, "ID_LIKE"), value_of(lines, "VERSION_ID")};
}

std::vector<std::string> distributions_of(const OsRelease& release) {
    std::vector<std::string> names = base::split_words(release.id + " " + release.like);
    for (std::string& name : names)
        if (!release.version.empty())
            name += "-" + release.version;
    return names;
}

bool is_distribution(std::string_view text) {
    const auto dash = text.rfind('-');
    return text.size() <= longest && dash != std::string_view::npos && dash > 0 && dash + 1 < text.size() &&
           is_letter(text.front()) && is_digit(text[dash + 1]) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_letter(c) || c == '.' || c == '_' || c == '-'; });
}

bool fits_distribution(const std::vector<std::string>& host, std::string_view wanted) {
    return std::any_of(host.begin(), host.end(), [&](const std::string& name) {
        return base::starts_with(name, wanted) &&
               (name.size() == wanted.size() || name[wanted.size()] == '.');
    });
}

} // namespace gpuhost::images
