// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report/redact.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/report/redact_line.hpp"
#include "daemon/ctl/report/redact_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace gpuhost::ctl {

using base::Json;

namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view around_text = " \t\r\"'+,"; // characters that surround a PEM line in source code

/// Returns the offset of a private key in PEM or OpenPGP (RFC 7468, RFC 9580); npos: none.
std::size_t find_key(std::string_view line) {
    const auto begin = line.find("-----BEGIN ");
    const auto of_key = line.find("PRIVATE KEY", begin == npos ? line.size() : begin);
    return of_key != npos && line.find("-----", of_key) != npos ? begin : npos;
}

bool is_base64(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
}

/// Returns true if the key that begins in this line continues on the next lines. Returns false if the line
/// only mentions a key, or contains all of it.
bool goes_on_behind(std::string_view line, std::size_t begin) {
    constexpr int of_key = 24; // base64 characters in a row: longer than any word
    const std::string_view rest =
        line.substr(line.find("-----", line.find("PRIVATE KEY", begin)) + std::string_view("-----").size());
    if (rest.find("-----END ") != npos)
        return false;
    return rest.find_first_not_of("\"'\\nr \t\r+,") == npos ||
           std::search_n(rest.begin(), rest.end(), of_key, true, [](char c, bool) { return is_base64(c); }) !=
               rest.end();
}

/// Returns true if the line may occur between a key's BEGIN and END.
bool is_of_key(std::string_view line) {
    constexpr std::array headers{"Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:", "Charset:"};
    const auto begin = line.find_first_not_of(around_text);
    if (begin == npos)
        return true;
    const std::string_view text = line.substr(begin, line.find_last_not_of(around_text) + 1 - begin);
    return std::any_of(headers.begin(), headers.end(),
                       [&](auto name) { return base::starts_with(text, name); }) ||
           std::all_of(text.begin(), text.end(), [](char c) { return is_base64(c) || c == '\\'; });
}

/// Returns the tag before the text at `at`, such as "prog[12]:", which a log repeats on the next lines.
std::string tag_before(std::string_view line, std::size_t at) {
    const auto words = base::split_words(line.substr(0, at));
    return !words.empty() && base::ends_with(words.back(), ":") ? words.back() + " " : "";
}

/// Returns the number of columns before the text, including the "- " of a YAML list.
std::size_t indentation(std::string_view line) {
    const auto text = line.find_first_not_of(" \t");
    if (text == npos)
        return line.size();
    return base::starts_with(line.substr(text), "- ") ? text + 1 + indentation(line.substr(text + 1)) : text;
}

/// Returns the number of opening brackets minus the number of closing ones.
int open_brackets(std::string_view text) {
    int open = 0;
    for (const char c : text)
        open += (c == '[' || c == '{' || c == '(' ? 1 : 0) - (c == ']' || c == '}' || c == ')' ? 1 : 0);
    return open;
}

/// Returns true if the value continues on the following lines that are indented more: it is empty, "|", ">-",
/// "[" or an unterminated quote.
bool goes_on_below(std::string_view value) {
    value = base::trim(value);
    if (value.empty())
        return true;
    const bool is_quoted = value.front() == '"' || value.front() == '\'';
    if (is_quoted && value.find(value.front(), 1) == npos)
        return true;
    const auto last = value.find_last_not_of("0123456789+-");
    return last != npos && std::string_view("|>[{(").find(value[last]) != npos;
}

/// Kinds of announcement that a line makes for the next line: none, the value of a pair, or the argument of
/// an option.
enum class Next { Any, Value, Argument };

/// Returns where the value starts that the previous line announced; npos: this line does not have it.
std::size_t find_awaited(std::string_view line, Next next) {
    const auto text = line.find_first_not_of(" \t\"'-");
    if (next == Next::Any || text == npos)
        return npos;
    if (next == Next::Argument)
        return text >= 2 && line.substr(text - 2, 2) == "--" ? npos : text;
    const auto colon = line.find_first_of(":=", text);
    if (colon == npos || plain_name(line.substr(text, colon - text)) != "value")
        return npos;
    return std::min(line.find_first_not_of(" \t", colon + 1), line.size());
}

class Redaction {
  public:
    explicit Redaction(std::string_view text) : rest_(text) {}
    [[nodiscard]] std::string run();

  private:
    [[nodiscard]] std::size_t find_others(std::string_view line) const;
    [[nodiscard]] bool is_of_others(std::string_view line) const;
    [[nodiscard]] bool is_left_out(std::string_view line);
    [[nodiscard]] std::string masked(std::string_view line);
    void expect_more(std::string_view line, std::size_t value);
    [[nodiscard]] bool expect_end(std::string_view value);

    enum class Inside { Nothing, Key, Continued, Block, Quoted, Brackets };
    std::string_view rest_;
    Inside inside_ = Inside::Nothing;
    Next next_ = Next::Any;
    std::string tag_;         ///< tag of the process that logs the key, at the begin of its lines
    std::size_t deeper_ = 0;  ///< the lines of a block are indented more than this
    std::string_view closer_; ///< the quotes that end the value
    int open_ = 0;            ///< number of brackets that are still open
};

/// While a key is being logged: returns the offset of the text in a line of another process, after its tag.
/// Returns npos for a line of the same process, whose further lines may have no tag.
std::size_t Redaction::find_others(std::string_view line) const {
    constexpr std::string_view tag = "]: ";
    if (inside_ != Inside::Key || !base::ends_with(tag_, tag) || line.find(tag_) != npos)
        return npos;
    const auto at = line.find(tag);
    return at == npos || line.find_first_of(" \t") == 0 ? npos : at + tag.size();
}

/// Returns true for a line of another process that is between the lines of a key and is not part of a key.
bool Redaction::is_of_others(std::string_view line) const {
    const auto text = find_others(line);
    return text != npos && !is_of_key(line.substr(text)) && line.find("-----END ", text) == npos;
}

/// Returns true if the line is part of the secret that began in an earlier line.
bool Redaction::is_left_out(std::string_view line) {
    const Inside inside = inside_;
    if (inside == Inside::Nothing)
        return false;
    if (find_others(line) != npos) // it is part of another process's key
        return true;
    inside_ = Inside::Nothing;
    bool is_inside = false;
    if (inside == Inside::Key) {
        if (line.find("-----END ") != npos)
            return true;
        const auto at = tag_.empty() ? npos : line.find(tag_);
        is_inside = find_key(line) == npos && is_of_key(at == npos ? line : line.substr(at + tag_.size()));
    } else if (inside == Inside::Continued) {
        if (!base::ends_with(line, "\\"))
            return true;
        is_inside = true;
    } else if (inside == Inside::Quoted) {
        if (line.find(closer_) != npos)
            return true;
        is_inside = true;
    } else if (inside == Inside::Brackets) {
        open_ += open_brackets(line);
        if (open_ <= 0)
            return true;
        is_inside = true;
    } else {
        const auto text = line.find_first_not_of(" \t");
        is_inside = text == npos || indentation(line) > deeper_;
    }
    if (is_inside)
        inside_ = inside;
    return is_inside;
}

/// Handles a value that begins with a quote or a bracket. Sets inside_ only if its end is within 64 KiB:
/// without an end, the rest of the file would count as secret.
bool Redaction::expect_end(std::string_view value) {
    constexpr std::size_t near = 65536;
    const std::string_view below = rest_.substr(0, near);
    for (const std::string_view quotes : {"\"\"\"", "'''", "\"", "'"}) {
        if (!base::starts_with(value, quotes))
            continue;
        if (value.size() == quotes.size() && quotes.size() == 1) // the closing quote of an enclosing text
            return false;
        if (value.find(quotes, quotes.size()) != npos || below.find(quotes) == npos)
            return false;
        closer_ = quotes;
        inside_ = Inside::Quoted;
        return true;
    }
    open_ = value.find_first_of("[{(") == 0 ? open_brackets(value) : 0;
    int open = open_;
    for (std::size_t at = 0; at < below.size() && open > 0; ++at)
        open += open_brackets(below.substr(at, 1));
    if (open_ <= 0 || open > 0)
        return false;
    inside_ = Inside::Brackets;
    return true;
}

/// Sets how the secret that begins at `value` continues on the next lines.
void Redaction::expect_more(std::string_view line, std::size_t value) {
    const std::string_view text = line.substr(value);
    deeper_ = indentation(line);
    if (base::ends_with(line, "\\"))
        inside_ = Inside::Continued;
    else if (!expect_end(text) && goes_on_below(text))
        inside_ = Inside::Block;
}

std::string Redaction::masked(std::string_view line) {
    const auto next = std::exchange(next_, Next::Any);
    if (const auto value = find_awaited(line, next); value != npos) {
        expect_more(line, value);
        return std::string(line.substr(0, value)) + std::string(mask);
    }
    if (const auto key = find_key(line); key != npos) {
        const std::string before = masked(line.substr(0, key));
        if (goes_on_behind(line, key)) {
            inside_ = Inside::Key;
            tag_ = tag_before(line, key);
        }
        return before + std::string(mask);
    }
    next_ = is_lone_option(line) || ends_in_option(line) ? Next::Argument
            : names_secret(line)                         ? Next::Value
                                                         : Next::Any;
    std::string safe = mask_tokens(mask_credentials(std::string(line)));
    const auto value = find_secret_value(line);
    if (value == npos) {
        if (safe != line && base::ends_with(line, "\\"))
            inside_ = Inside::Continued;
        return safe;
    }
    expect_more(line, value);
    if (value == line.size())
        return safe;
    // The name of a secret may be part of a URL with a password. Then the secret starts earlier, at the first
    // masked character.
    const auto differs =
        std::mismatch(line.begin(), line.end(), safe.begin(), safe.end()).first - line.begin();
    return std::string(line.substr(0, std::min(value, static_cast<std::size_t>(differs)))) +
           std::string(mask);
}

std::string Redaction::run() {
    std::string made;
    while (!rest_.empty()) {
        const std::string_view line = rest_.substr(0, rest_.find('\n'));
        const bool is_last = line.size() == rest_.size();
        rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
        if (is_of_others(line))
            made += redact(line) + (is_last ? "" : "\n");
        else if (!is_left_out(line))
            made += masked(line) + (is_last ? "" : "\n");
    }
    return made;
}

/// Masks all values of the document, whatever their keys are, except null, true and false.
Json all_masked(const Json& document) {
    if (!document.is_structured())
        return document.is_null() || document.is_boolean() ? document : Json(mask);
    Json made = document;
    for (Json& value : made)
        value = all_masked(Json(value));
    return made;
}

/// Returns true for a pair such as {"name": "DB_PASSWORD", "value": …}.
bool is_pair_of_secret(const Json& object) {
    for (const auto& [key, value] : object.items())
        if ((plain_name(key) == "name" || plain_name(key) == "key") && value.is_string() &&
            is_secret_name(value.get_ref<const std::string&>()))
            return true;
    return false;
}

} // namespace

std::string redact(std::string_view text) {
    return Redaction(text).run();
}

Json redact_document(const Json& document) {
    if (document.is_string())
        return redact(document.get_ref<const std::string&>());
    Json made = document;
    if (document.is_object()) {
        const bool is_pair = is_pair_of_secret(document);
        for (auto& [key, value] : made.items())
            value = is_secret_name(key) || (is_pair && plain_name(key) == "value")
                        ? all_masked(Json(value))
                        : redact_document(Json(value));
    }
    bool is_argument = false; // the previous element is an option whose argument is secret
    if (document.is_array())
        for (Json& value : made) {
            const std::string text = value.is_string() ? value.get<std::string>() : "";
            const bool is_option = is_secret_option(text);
            value = is_argument && !base::starts_with(text, "--") ? all_masked(Json(value))
                                                                  : redact_document(Json(value));
            is_argument = is_option;
        }
    return made;
}

} // namespace gpuhost::ctl
