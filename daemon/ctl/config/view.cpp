// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/config/view.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>

namespace gpuhost::ctl {
namespace {

using base::Json;
using core::Setting;
using core::SettingsProblem;

/// Returns the value without the PINs of a pkcs11: URI (RFC 7512). A PIN there is a mistake, and is not used.
std::string without_pin(const std::string& value) {
    constexpr std::string_view name = "pin-value=";
    if (!base::starts_with(value, "pkcs11:"))
        return value;
    std::string out;
    std::size_t from = 0;
    for (std::size_t at = value.find(name); at != std::string::npos; at = value.find(name, from)) {
        const std::size_t begin = at + name.size();
        out += value.substr(from, begin - from) + "[masked]";
        from = std::min(value.find_first_of("&;", begin), value.size());
    }
    return out + value.substr(from);
}

/// Returns "Key=word word". On a terminal, a long list continues on further lines, each after a backslash.
std::string assignment(const Screen& screen, const Setting& setting, const std::string& begin) {
    std::string out;
    std::string line = begin + std::string(setting.key->key) + "=";
    const auto words = base::split_words(setting.value);
    if (!screen.terminal || setting.key->type != core::SettingType::Words || words.empty())
        return line + printable(without_pin(setting.value)) + "\n";
    line += printable(words.front());
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string word = printable(words[i]);
        constexpr std::size_t mark = 2; // " \"
        if (text_width(line) + 1 + text_width(word) + mark > screen.columns) {
            out += line + " \\\n";
            line = begin + "   ";
        }
        line += " " + word;
    }
    return out + line + "\n";
}

std::string origin_line(const Setting& setting) {
    const std::string fallback(setting.key->fallback);
    return "# from " + printable(setting.source) +
           (setting.is_default() ? ", the default"
            : fallback.empty()   ? ", default: empty"
                                 : ", default: " + fallback) +
           "\n";
}

std::string paint_lines(const Screen& screen, Style style, const std::string& lines) {
    std::string out;
    for (const std::string& line : base::split(base::trim(lines), '\n'))
        out += screen.paint(style, line) + "\n";
    return out;
}

} // namespace

Json settings_json(const ShownSettings& settings) {
    Json list = Json::array();
    for (const Setting* setting : settings)
        list.push_back({{"section", setting->key->section},
                        {"key", setting->key->key},
                        {"value", without_pin(setting->value)},
                        {"default", setting->key->fallback},
                        {"changed", !setting->is_default()},
                        {"source", setting->source}});
    return list;
}

std::string render_settings(const Screen& screen, const ShownSettings& settings) {
    std::string out;
    std::string_view section;
    for (const Setting* setting : settings) {
        if (setting->key->section != section) {
            section = setting->key->section;
            out += (out.empty() ? "" : "\n") + screen.paint(Style::Bold, "[" + std::string(section) + "]") +
                   "\n";
        }
        out +=
            setting->source == core::default_source
                ? paint_lines(screen, Style::Dim, assignment(screen, *setting, "#"))
                : paint_lines(screen, Style::Dim, origin_line(*setting)) + assignment(screen, *setting, "");
    }
    return out;
}

Json check_json(const std::vector<core::SettingsFile>& files, const std::vector<SettingsProblem>& problems) {
    Json document{{"files", Json::array()}, {"problems", Json::array()}};
    for (const core::SettingsFile& file : files)
        document["files"].push_back(file.path);
    for (const SettingsProblem& problem : problems)
        document["problems"].push_back(
            {{"file", problem.file}, {"line", problem.line}, {"text", problem.text}, {"hint", problem.hint}});
    return document;
}

std::string render_problems(const std::vector<SettingsProblem>& problems) {
    std::string out;
    for (const SettingsProblem& problem : problems)
        out += printable(problem.place() + ": " + problem.text +
                         (problem.hint.empty() ? "" : " (" + problem.hint + ")")) +
               "\n";
    return out;
}

} // namespace gpuhost::ctl
