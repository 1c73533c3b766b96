// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toml/toml_edit.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/toml/toml_list_edit.hpp"
#include "daemon/runtime/toml/toml_writer.hpp"

#include <algorithm>
#include <optional>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view imports = "imports";

std::string assignment(const std::vector<std::string>& values) {
    return std::string(imports) + " = [" + base::join(values, ", ") + "]";
}

std::vector<std::string> written(const std::vector<std::string>& paths) {
    std::vector<std::string> values;
    for (const std::string& path : paths)
        values.push_back(toml_string(path));
    return values;
}

/// Returns the offset after the file's leading comments. Comments directly above the first key belong to that
/// key.
std::size_t after_leading_comments(std::string_view text) {
    std::size_t at = line_begin(text, 0);
    std::optional<std::size_t> after_gap;
    bool has_comment = false;
    while (at < text.size()) {
        const std::size_t next = next_line(text, at);
        const std::string_view line = base::trim(text.substr(at, next - at));
        if (!line.empty() && line.front() != '#')
            break;
        has_comment = has_comment || !line.empty();
        if (line.empty() && has_comment)
            after_gap = next;
        at = next;
    }
    return at < text.size() && after_gap ? *after_gap : at;
}

/// Inserts a line at `at`. If the last line of the text has no line end, the new last line has none either.
std::string with_line(std::string_view text, std::size_t at, const std::string& line) {
    const std::string end = line_end(text, at == 0 ? 0 : at - 1);
    const bool is_after_open_line = at > line_begin(text, 0) && at == text.size() && text.back() != '\n';
    return std::string(text.substr(0, at)) + (is_after_open_line ? end + line : line + end) +
           std::string(text.substr(at));
}

std::string with_key(std::string_view text, const TomlText& located, const std::vector<std::string>& values) {
    const auto version = located.places.find("version");
    const std::size_t at = version == located.places.end() ? after_leading_comments(text)
                                                           : next_line(text, version->second.value.end);
    return with_line(text, at, assignment(values));
}

tl::unexpected<base::Error> refused(std::string_view what, const std::vector<std::string>& paths) {
    return base::fail(Errc::Refused, std::string(what) + ": can't be edited safely",
                      paths.empty() ? "Remove the key 'imports' from the file manually."
                                    : "Set " + assignment(written(paths)) + " in the file manually.");
}

/// Returns true if the edited text has the intended imports and is otherwise unchanged. Compares texts of the
/// documents: these distinguish floats from integers, and "nan" equals itself.
bool is_as_meant(std::string_view edited, Json before, const std::vector<std::string>& paths) {
    auto after = parse_toml(edited, "");
    if (!after)
        return false;
    if (base::strings_or_empty(*after, imports) != paths)
        return false;
    before.erase(std::string(imports));
    after->erase(std::string(imports));
    return base::dump(before) == base::dump(*after);
}

/// Returns for each element of `current` whether it stays. Sets `added` to the elements of `wanted` to append
/// after them.
std::vector<bool> kept(const std::vector<std::string>& current, const std::vector<std::string>& wanted,
                       std::vector<std::string>& added) {
    std::vector<bool> keeps;
    auto next = wanted.begin();
    for (const std::string& path : current) {
        keeps.push_back(next != wanted.end() && *next == path);
        if (keeps.back())
            ++next;
    }
    added.assign(next, wanted.end());
    return keeps;
}

Result<std::string> edited(std::string_view text, const TomlText& located,
                           const std::vector<std::string>& current, const std::vector<std::string>& wanted,
                           std::string_view what) {
    const auto place = located.places.find(imports);
    if (place == located.places.end())
        return with_key(text, located, written(wanted));
    if (wanted.empty())
        return without_list(text, place->second);
    std::vector<std::string> added;
    const std::string rest = without_elements(text, place->second, kept(current, wanted, added));
    if (added.empty())
        return rest;
    GPUHOST_TRY(located_rest, locate_toml(rest, what));
    const auto place_rest = located_rest.places.find(imports);
    if (place_rest == located_rest.places.end())
        return refused(what, wanted);
    return with_elements(rest, place_rest->second, written(added));
}

struct Imports {
    TomlText located;
    std::vector<std::string> paths;
};

Result<Imports> imports_of(std::string_view text, std::string_view what) {
    GPUHOST_TRY(located, locate_toml(text, what));
    if (!located.content.contains(imports))
        return Imports{std::move(located), {}};
    auto paths = base::get_strings(located.content, imports);
    if (!paths)
        return base::fail(Errc::BadContent, std::string(what) + ": 'imports' is not a list of strings");
    return Imports{std::move(located), std::move(*paths)};
}

Result<std::string> changed(std::string_view text, const Imports& current,
                            const std::vector<std::string>& wanted, std::string_view what) {
    if (current.paths == wanted)
        return std::string(text);
    auto result = edited(text, current.located, current.paths, wanted, what);
    if (!result || !is_as_meant(*result, current.located.content, wanted))
        return refused(what, wanted);
    return result;
}

} // namespace

Result<std::string> with_import(std::string_view text, std::string_view path, std::string_view what) {
    GPUHOST_TRY(current, imports_of(text, what));
    std::vector<std::string> wanted = current.paths;
    if (std::find(wanted.begin(), wanted.end(), path) == wanted.end())
        wanted.emplace_back(path);
    return changed(text, current, wanted, what);
}

Result<std::string> without_import(std::string_view text, std::string_view path, std::string_view what) {
    GPUHOST_TRY(current, imports_of(text, what));
    std::vector<std::string> wanted = current.paths;
    wanted.erase(std::remove(wanted.begin(), wanted.end(), path), wanted.end());
    return changed(text, current, wanted, what);
}

Result<std::string> with_imports(std::string_view text, const std::vector<std::string>& paths,
                                 std::string_view what) {
    GPUHOST_TRY(current, imports_of(text, what));
    return changed(text, current, paths, what);
}

} // namespace gpuhost::runtime
