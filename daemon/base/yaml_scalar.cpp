// SPDX-License-Identifier: Apache-2.0
// The rules of YamlReader::Kubectl are those of resolve.go in go.yaml.in/yaml/v2.
#include "daemon/base/yaml_scalar.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace gpuhost::base {
namespace {

constexpr auto most_positive = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_null(std::string_view text) {
    return is_one_of(text, std::array<std::string_view, 5>{"", "~", "null", "Null", "NULL"});
}

std::optional<bool> truth_value(std::string_view text) {
    if (is_one_of(text, std::array<std::string_view, 3>{"true", "True", "TRUE"}))
        return true;
    if (is_one_of(text, std::array<std::string_view, 3>{"false", "False", "FALSE"}))
        return false;
    return std::nullopt;
}

/// Returns the value of YAML 1.1's other booleans, including "y" and "n", which Go's reader accepts.
std::optional<bool> old_truth_value(std::string_view text) {
    if (is_one_of(text, std::array<std::string_view, 8>{"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}))
        return true;
    if (is_one_of(text, std::array<std::string_view, 8>{"n", "N", "no", "No", "NO", "off", "Off", "OFF"}))
        return false;
    return std::nullopt;
}

std::optional<std::uint64_t> unsigned_number(std::string_view text, YamlReader reader) {
    const bool capitals = reader == YamlReader::Kubectl;
    if (text.size() > 2 && text[0] == '0') {
        const char letter = text[1];
        if (letter == 'x' || (capitals && letter == 'X'))
            return parse_uint(text.substr(2), 16);
        if (letter == 'o' || (capitals && letter == 'O'))
            return parse_uint(text.substr(2), 8);
        if (letter == 'b' || (capitals && letter == 'B'))
            return parse_uint(text.substr(2), 2);
    }
    return parse_uint(text, text.size() > 1 && text[0] == '0' ? 8 : 10);
}

std::optional<Json> integer(std::string_view text, YamlReader reader) {
    if (const auto number = unsigned_number(text, reader))
        return Json(*number);
    if (text[0] != '-' && (text[0] != '+' || reader != YamlReader::Kubectl))
        return std::nullopt;
    const auto number = unsigned_number(text.substr(1), reader);
    if (number == most_positive + 1 && text[0] == '-' && reader == YamlReader::Kubectl)
        return Json(std::numeric_limits<std::int64_t>::min());
    if (!number || *number > most_positive)
        return std::nullopt;
    const auto positive = static_cast<std::int64_t>(*number);
    return Json(text[0] == '-' ? -positive : positive);
}

/// Returns true for `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`: the numbers of Go's
/// reader, of which YAML lacks some.
bool looks_like_float(std::string_view text) {
    const auto digits = [&text] {
        const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
        const auto count = static_cast<std::size_t>(end - text.begin());
        text.remove_prefix(count);
        return count;
    };
    const auto skip = [&text](std::string_view any) {
        const bool found = !text.empty() && any.find(text.front()) != std::string_view::npos;
        text.remove_prefix(found ? 1 : 0);
        return found;
    };
    (void)skip("+-");
    const bool whole = digits() > 0;
    const bool fraction = skip(".") && digits() > 0;
    if (!whole && !fraction)
        return false;
    if (!skip("eE"))
        return text.empty();
    (void)skip("+-");
    return digits() > 0 && text.empty();
}

std::optional<double> floating(std::string_view text) {
    if (!looks_like_float(text))
        return std::nullopt;
    text.remove_prefix(text.front() == '+' ? 1 : 0);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range && text.find_first_of("eE") + 1 == text.find('-', 1))
        return 0.0; // a number that is too small is 0; one that is too large is not a number
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Returns true if each "_" is between two digits.
bool separates_digits(std::string_view text) {
    for (std::size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1))
        if (at == 0 || at + 1 == text.size() || !is_digit(text[at - 1]) || !is_digit(text[at + 1]))
            return false;
    return true;
}

/// Returns the value of ".inf" and ".nan", in three spellings; ".inf" may have a sign.
std::optional<double> no_finite_number(std::string_view text) {
    if (is_one_of(text, std::array<std::string_view, 3>{".nan", ".NaN", ".NAN"}))
        return std::numeric_limits<double>::quiet_NaN();
    const bool negative = !text.empty() && text.front() == '-';
    text.remove_prefix(negative || (!text.empty() && text.front() == '+') ? 1 : 0);
    if (!is_one_of(text, std::array<std::string_view, 3>{".inf", ".Inf", ".INF"}))
        return std::nullopt;
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

Json kubectl_scalar(const std::string& text) {
    if (const auto value = old_truth_value(text))
        return *value;
    if (const auto value = no_finite_number(text))
        return *value;
    const bool begins_with_point = text[0] == '.';
    const bool may_be_number =
        begins_with_point ? separates_digits(text) : is_digit(text[0]) || text[0] == '-' || text[0] == '+';
    if (!may_be_number)
        return text;
    std::string plain = text;
    plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
    if (const auto value = integer(plain, YamlReader::Kubectl))
        return *value;
    const auto value = floating(plain);
    return value ? Json(*value) : Json(text);
}

} // namespace

Json plain_scalar(const std::string& text, YamlReader reader) {
    if (is_null(text))
        return nullptr;
    if (const auto value = truth_value(text))
        return *value;
    if (reader == YamlReader::Kubectl)
        return kubectl_scalar(text);
    return integer(text, reader).value_or(text);
}

std::optional<std::string> plain_key(const std::string& text, YamlReader reader) {
    if (reader == YamlReader::ContainerRuntime)
        return text;
    const Json value = plain_scalar(text, reader);
    if (value.is_string())
        return value.get<std::string>();
    const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > most_positive;
    if ((value.is_number_integer() && !too_large) || value.is_boolean())
        return value.dump();
    return std::nullopt;
}

bool is_yaml_text(std::string_view text) {
    const bool control = std::any_of(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r') || c == '\x7f';
    });
    if (control)
        return false;
    const Json value = std::string(text);
    const Json again = Json::parse(dump(value), nullptr, false); // dump() replaces invalid UTF-8
    return again == value;
}

} // namespace gpuhost::base
