// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/ini.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost::base {
namespace {

struct Line {
    std::string text;
    unsigned number = 0;
};

/// Returns the lines with continuations joined by a blank, without comments and empty lines.
std::vector<Line> logical_lines(std::string_view text) {
    std::vector<Line> lines;
    bool continues = false;
    unsigned number = 0;
    for (const std::string& raw : split(text, '\n')) {
        ++number;
        const std::string_view line = trim(raw);
        if (!continues && line.empty())
            continue;
        if (!line.empty() && (line.front() == '#' || line.front() == ';'))
            continue; // also between continuation lines, as in unit files
        const bool more = !line.empty() && line.back() == '\\';
        const std::string_view content = more ? trim(line.substr(0, line.size() - 1)) : line;
        if (continues)
            (lines.back().text += ' ') += content;
        else
            lines.push_back({std::string(content), number});
        continues = more;
    }
    return lines;
}

/// Returns what is wrong with a section's header; null if it is valid.
const char* invalid_header(std::string_view line) {
    if (line.find('\0') != std::string_view::npos)
        return "NUL byte";
    if (!is_utf8(line))
        return "not UTF-8";
    return line.size() < 3 || line.back() != ']' ? "section header without ']'" : nullptr;
}

} // namespace

IniFile parse_ini(std::string_view text) {
    IniFile file;
    bool skips = false; // the header of the section is invalid, so its entries belong nowhere
    const auto problem = [&](unsigned line, const char* what) { file.problems.push_back({line, what}); };
    for (const Line& line : logical_lines(text)) {
        if (line.text.empty())
            continue; // the line consists only of continuation marks
        if (line.text.front() == '[') {
            const char* const invalid = invalid_header(line.text);
            skips = invalid != nullptr;
            if (skips)
                problem(line.number, invalid);
            else
                file.sections.push_back(
                    {line.text.substr(1, line.text.size() - 2), line.number, 0, file.entries.size()});
            continue;
        }
        if (skips)
            continue;
        if (line.text.find('\0') != std::string::npos) {
            problem(line.number, "NUL byte");
            continue;
        }
        const auto equals = line.text.find('=');
        if (!is_utf8(line.text.substr(0, equals))) {
            problem(line.number, "not UTF-8");
            continue;
        }
        if (equals == std::string::npos || trim(line.text.substr(0, equals)).empty()) {
            problem(line.number, "neither [Section] nor Key=Value");
            continue;
        }
        if (file.sections.empty()) {
            problem(line.number, "key before the first [Section]");
            continue;
        }
        IniSection& section = file.sections.back();
        ++section.entries;
        file.entries.push_back({section.name, std::string(trim(line.text.substr(0, equals))),
                                std::string(trim(line.text.substr(equals + 1))), line.number});
    }
    return file;
}

} // namespace gpuhost::base
