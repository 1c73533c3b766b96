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

} // namespace

IniFile parse_ini(std::string_view text) {
    IniFile file;
    const auto problem = [&](unsigned line, const char* what) { file.problems.push_back({line, what}); };
    for (const Line& line : logical_lines(text)) {
        if (line.text.empty())
            continue; // the line consists only of continuation marks
        if (line.text.find('\0') != std::string::npos) {
            problem(line.number, "NUL byte");
            continue;
        }
        if (!is_utf8(line.text)) {
            problem(line.number, "not UTF-8");
            continue;
        }
        if (line.text.front() == '[') {
            if (line.text.size() < 3 || line.text.back() != ']')
                problem(line.number, "section header without ']'");
            else
                file.sections.push_back(
                    {line.text.substr(1, line.text.size() - 2), line.number, 0, file.entries.size()});
            continue;
        }
        const auto equals = line.text.find('=');
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
