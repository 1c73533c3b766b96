// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toml/toml.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace {

struct Impossible {};

[[noreturn]] void impossible() {
    throw Impossible{};
}

} // namespace

// The library is used header-only, and only in this file. Its assertions can fail for some inputs: in 3.3 for
// the text after "[[". TOML_ASSERT turns such a failure into an ordinary error; with NDEBUG it would be
// undefined behaviour. Without exceptions the library would continue after an error. It recurses into nested
// values, which TOML_MAX_NESTED_VALUES limits.
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>((expr) || (impossible(), false))
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t most_dots = 32;
constexpr std::size_t longest_line = 64U << 10U;
constexpr std::size_t most_dots_of_line = 4096;

/// Returns the offset of the last character of the quoted text that begins at `at`. A missing closing quote
/// is left to the parser. One or two quotes directly before three closing ones belong to the text.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
    const char quote = text[at];
    const std::size_t length = text.substr(at, 3) == std::string(3, quote) ? 3 : 1;
    const std::string closing(length, quote);
    for (at += length; at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\')
            ++at;
        else if (text.substr(at, length) == closing) {
            at += length - 1;
            for (std::size_t more = 0; length == 3 && more < 2 && text.substr(at + 1, 1) == closing.substr(2);
                 ++more)
                ++at;
            return at;
        } else if (length == 1 && text[at] == '\n')
            break;
    }
    return at;
}

struct Wrong {
    std::size_t line;
    std::string_view why;
};

/// Finds a line that no real configuration contains, without regard to quotes. Without such lines a text is
/// safe for the library, even if the library and end_of_quoted() disagree about quoted parts.
std::optional<Wrong> unfit_line(std::string_view text) {
    std::size_t number = 1;
    for (std::size_t at = 0; at < text.size(); ++number) {
        const std::size_t length = std::min(text.find('\n', at), text.size()) - at;
        const std::string_view line = text.substr(at, length);
        if (line.size() > longest_line)
            return Wrong{number, "is longer than 65536 bytes"};
        if (std::count(line.begin(), line.end(), '.') > static_cast<std::ptrdiff_t>(most_dots_of_line))
            return Wrong{number, "has more than 4096 dots"};
        at += length + 1;
    }
    return std::nullopt;
}

std::size_t line_of(std::string_view text, std::size_t at) {
    return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + at, '\n'));
}

/// Returns true if a quoted text may begin at `at`. If a quoted text followed a value without quotes, the
/// library would append the text to that value, even if the text is not ASCII.
bool may_begin_text(std::string_view text, std::size_t at) {
    return at == 0 || std::string_view(" \t\r\n=,.[{\xBF").find(text[at - 1]) != std::string_view::npos;
}

/// Finds text that is unsafe for the library. A key with many dots creates nested tables without a limit,
/// whose destruction would exhaust the stack. Non-ASCII characters are valid only in strings and comments;
/// elsewhere the library executes code that it declares unreachable.
std::optional<Wrong> unfit(std::string_view text) {
    std::size_t dots = 0;
    for (std::size_t at = base::starts_with(text, "\xEF\xBB\xBF") ? 3 : 0; at < text.size(); ++at) {
        const char c = text[at];
        const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
        if ((c == '"' || c == '\'') && !may_begin_text(text, at))
            return Wrong{line_of(text, at), "has a quote where no string begins"};
        if (c == '"' || c == '\'')
            at = end_of_quoted(text, at);
        else if (c == '#')
            at = std::min(text.find('\n', at), text.size()) - 1;
        else if (c == '.')
            ++dots;
        else if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos)
            dots = 0;
        if (!is_ascii || dots > most_dots)
            return Wrong{line_of(text, at),
                         is_ascii ? "is nested too deeply" : "has non-ASCII characters outside of strings"};
    }
    return std::nullopt;
}

template <class T>
std::string written(const T& value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

Json to_json(const toml::node& node);

Json table_to_json(const toml::table& table) {
    Json object = Json::object();
    for (const auto& [key, value] : table)
        object[std::string(key.str())] = to_json(value);
    return object;
}

Json to_json(const toml::node& node) {
    if (const auto* const table = node.as_table())
        return table_to_json(*table);
    if (const auto* const list = node.as_array()) {
        Json array = Json::array();
        for (const toml::node& element : *list)
            array.push_back(to_json(element));
        return array;
    }
    if (const auto* const text = node.as_string())
        return text->get();
    if (const auto* const number = node.as_integer())
        return number->get();
    if (const auto* const number = node.as_floating_point())
        return number->get();
    if (const auto* const flag = node.as_boolean())
        return flag->get();
    if (const auto* const date = node.as_date())
        return written(date->get());
    if (const auto* const time = node.as_time())
        return written(time->get());
    if (const auto* const moment = node.as_date_time())
        return written(moment->get());
    return nullptr;
}

tl::unexpected<base::Error> wrong(std::string_view what, std::size_t line, std::string_view why) {
    return base::fail(Errc::BadContent,
                      std::string(what) + ": line " + std::to_string(line) + ": " + std::string(why));
}

Result<toml::table> parsed(std::string_view text, std::string_view what) {
    for (const auto check : {unfit_line, unfit})
        if (const auto found = check(text))
            return wrong(what, found->line, found->why);
    try {
        return toml::parse(text);
    } catch (const toml::parse_error& error) {
        return wrong(what, error.source().begin.line, error.description());
    } catch (const Impossible&) {
        return base::fail(Errc::BadContent, std::string(what) + ": is not valid TOML");
    }
}

/// Converts the library's positions to offsets. A position is a line, and a code point in the line; a byte
/// order mark does not count. All positions are found in one pass, because a list may have as many elements
/// as fit in a line.
class Places {
  public:
    void add(const toml::source_region& region, TextRange& range) {
        wanted_.emplace_back(region.begin, &range.begin);
        wanted_.emplace_back(region.end, &range.end);
    }

    void find(std::string_view text) {
        std::sort(wanted_.begin(), wanted_.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        toml::source_position here{1, 1};
        std::size_t at = base::starts_with(text, "\xEF\xBB\xBF") ? 3 : 0;
        for (const auto& [position, offset] : wanted_) {
            for (; at < text.size() && here < position; at = after_code_point(text, at))
                here = text[at] == '\n' ? toml::source_position{here.line + 1, 1}
                                        : toml::source_position{here.line, here.column + 1};
            *offset = at;
        }
    }

  private:
    static std::size_t after_code_point(std::string_view text, std::size_t at) {
        for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;)
            ++at;
        return at;
    }

    std::vector<std::pair<toml::source_position, std::size_t*>> wanted_;
};

/// Returns true if the node is a table or a list that contains tables.
bool has_tables(const toml::node& node) {
    const auto* const list = node.as_array();
    return node.is_table() ||
           (list != nullptr &&
            std::any_of(list->begin(), list->end(), [](const auto& element) { return element.is_table(); }));
}

} // namespace

Result<Json> parse_toml(std::string_view text, std::string_view what) {
    GPUHOST_TRY(document, parsed(text, what));
    return table_to_json(document);
}

Result<TomlText> locate_toml(std::string_view text, std::string_view what) {
    GPUHOST_TRY(document, parsed(text, what));
    TomlText located{table_to_json(document), {}};
    Places places;
    for (const auto& [key, value] : document) {
        if (has_tables(value))
            continue;
        TomlPlace& place = located.places[std::string(key.str())];
        places.add(value.source(), place.value);
        if (const auto* const list = value.as_array()) {
            place.elements.resize(list->size());
            for (std::size_t i = 0; i < list->size(); ++i)
                places.add((*list)[i].source(), place.elements[i]);
        }
    }
    places.find(text);
    return located;
}

} // namespace gpuhost::runtime
