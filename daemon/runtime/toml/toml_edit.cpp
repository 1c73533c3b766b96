// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toml/toml_edit.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/toml/toml.hpp"
#include "daemon/runtime/toml/toml_writer.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view key = "imports";
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string list_of(const std::vector<std::string>& paths) {
    std::vector<std::string> values;
    for (const std::string& path : paths)
        values.push_back(toml_string(path));
    return "[" + base::join(values, ", ") + "]";
}

std::string assignment(const std::vector<std::string>& paths) {
    return std::string(key) + " = " + list_of(paths);
}

std::string replaced(std::string_view text, TextRange range, std::string_view by) {
    return std::string(text.substr(0, range.begin)).append(by).append(text.substr(range.end));
}

/// Returns the offset at which the line that contains `at` begins, after a byte order mark.
std::size_t line_begin(std::string_view text, std::size_t at) {
    const std::size_t before = text.substr(0, at).rfind('\n');
    if (before != std::string_view::npos)
        return before + 1;
    return base::starts_with(text, byte_order_mark) ? byte_order_mark.size() : 0;
}

std::size_t next_line(std::string_view text, std::size_t at) {
    const std::size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end + 1;
}

/// Returns the line end, "\n" or "\r\n", of the line that contains `at`.
std::string_view line_end(std::string_view text, std::size_t at) {
    const std::size_t end = text.find('\n', at);
    return end != std::string_view::npos && end > at && text[end - 1] == '\r' ? "\r\n" : "\n";
}

struct Imports {
    TomlText located;
    std::vector<std::string> paths;
};

Result<Imports> imports_of(std::string_view text, std::string_view what) {
    GPUHOST_TRY(located, locate_toml(text, what));
    if (!located.content.contains(key))
        return Imports{std::move(located), {}};
    auto paths = base::get_strings(located.content, key);
    if (!paths)
        return base::fail(Errc::BadContent, std::string(what) + ": 'imports' is not a list of strings");
    return Imports{std::move(located), std::move(*paths)};
}

/// Returns the place of the list; null if the file has none.
const TomlPlace* list_in(const TomlText& located) {
    const auto place = located.places.find(key);
    return place == located.places.end() ? nullptr : &place->second;
}

std::string with_key(std::string_view text, const TomlText& located, const std::vector<std::string>& paths) {
    const auto version = located.places.find("version");
    const std::size_t at =
        line_begin(text, version == located.places.end() ? 0 : version->second.value.begin);
    return replaced(text, {at, at}, assignment(paths).append(line_end(text, 0)));
}

/// Appends `value` to the list. It gets its own line if the last element begins its line and the list ends on
/// a later line. If a comma follows the last element, the new line is added after that element's line, so
/// that a comment stays with its element.
std::string with_element(std::string_view text, const TomlPlace& list, const std::string& value) {
    if (list.elements.empty())
        return replaced(text, {list.value.begin + 1, list.value.begin + 1}, value);
    const TextRange last = list.elements.back();
    const std::size_t next = next_line(text, last.end);
    const std::string_view before =
        text.substr(line_begin(text, last.begin), last.begin - line_begin(text, last.begin));
    if (!base::trim(before).empty() || next >= list.value.end)
        return replaced(text, {last.end, last.end}, ", " + value);
    const std::string end(line_end(text, last.end));
    const std::string line = end + std::string(before) + value;
    if (text[last.end] != ',')
        return replaced(text, {last.end, last.end}, "," + line);
    return replaced(text, {next - end.size(), next - end.size()}, line + ",");
}

/// Returns the texts that may result from removing element `i`, the best one first. No text loses a comment.
std::vector<std::string> without_element(std::string_view text, const TomlPlace& list, std::size_t i) {
    const TextRange element = list.elements[i];
    std::vector<TextRange> cuts;
    if (list.elements.size() == 1)
        cuts.push_back({line_begin(text, list.value.begin), next_line(text, list.value.end)});
    if (i > 0)
        cuts.push_back({list.elements[i - 1].end, element.end});
    if (i + 1 < list.elements.size())
        cuts.push_back({element.begin, list.elements[i + 1].begin});
    cuts.push_back({line_begin(text, element.begin), next_line(text, element.end)});
    cuts.push_back({element.begin, element.end + (text[element.end] == ',' ? 1 : 0)});
    std::vector<std::string> texts;
    for (const TextRange& cut : cuts)
        if (text.substr(cut.begin, element.begin - cut.begin).find('#') == std::string_view::npos &&
            text.substr(element.end, cut.end - element.end).find('#') == std::string_view::npos)
            texts.push_back(replaced(text, cut, ""));
    return texts;
}

/// Returns true if the edited text has the intended imports and is otherwise unchanged. Compares texts of the
/// documents: these distinguish floats from integers, and "nan" equals itself.
bool is_as_meant(std::string_view edited, Json before, const std::vector<std::string>& paths) {
    auto after = parse_toml(edited, "");
    if (!after || base::strings_or_empty(*after, key) != paths)
        return false;
    before.erase(std::string(key));
    after->erase(std::string(key));
    return base::dump(before) == base::dump(*after);
}

/// Returns the first of `texts` that is_as_meant() accepts; fails with Refused if there is none.
Result<std::string> chosen(const std::vector<std::string>& texts, const Imports& before,
                           const std::vector<std::string>& wanted, std::string_view what) {
    for (const std::string& text : texts)
        if (is_as_meant(text, before.located.content, wanted))
            return text;
    return base::fail(Errc::Refused, std::string(what) + ": can't be edited safely",
                      wanted.empty() ? "Remove the key 'imports' from the file manually."
                                     : "Set " + assignment(wanted) + " in the file manually.");
}

} // namespace

Result<std::string> with_import(std::string_view text, std::string_view path, std::string_view what) {
    GPUHOST_TRY(before, imports_of(text, what));
    std::vector<std::string> wanted = before.paths;
    if (std::find(wanted.begin(), wanted.end(), path) != wanted.end())
        return std::string(text);
    wanted.emplace_back(path);
    const TomlPlace* const list = list_in(before.located);
    return chosen({list == nullptr ? with_key(text, before.located, wanted)
                                   : with_element(text, *list, toml_string(path))},
                  before, wanted, what);
}

Result<std::string> without_import(std::string_view text, std::string_view path, std::string_view what) {
    GPUHOST_TRY(before, imports_of(text, what));
    const auto found = std::find(before.paths.begin(), before.paths.end(), path);
    if (found == before.paths.end())
        return std::string(text);
    std::vector<std::string> wanted = before.paths;
    std::erase(wanted, path);
    const auto i = static_cast<std::size_t>(found - before.paths.begin());
    const TomlPlace* const list = list_in(before.located);
    return chosen(list == nullptr ? std::vector<std::string>() : without_element(text, *list, i), before,
                  wanted, what);
}

Result<std::string> with_imports(std::string_view text, const std::vector<std::string>& paths,
                                 std::string_view what) {
    GPUHOST_TRY(before, imports_of(text, what));
    if (before.paths == paths)
        return std::string(text);
    const TomlPlace* const list = list_in(before.located);
    return chosen({list == nullptr ? with_key(text, before.located, paths)
                                   : replaced(text, list->value, list_of(paths))},
                  before, paths, what);
}

} // namespace gpuhost::runtime
