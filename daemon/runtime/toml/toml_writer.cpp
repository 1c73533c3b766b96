// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toml/toml_writer.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace gpuhost::runtime {

using base::Json;

namespace {

/// Bytes of a list on one line. A longer list has one line for each element, because readers limit the length
/// of lines.
constexpr std::size_t longest_list = 100;

bool is_bare(std::string_view key) {
    return !key.empty() &&
           key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
               std::string_view::npos;
}

std::string key_text(const std::string& key) {
    return is_bare(key) ? key : toml_string(key);
}

std::string value_text(const Json& value);

std::string inline_list(const Json& list) {
    std::string flat;
    std::string tall;
    for (const Json& element : list) {
        if (element.is_null())
            continue;
        const std::string text = value_text(element);
        flat += (flat.empty() ? "" : ", ") + text;
        tall += "    " + text + ",\n";
    }
    return flat.size() <= longest_list ? "[" + flat + "]" : "[\n" + tall + "]";
}

/// Returns an inline table. It is for tables that can't have a header: those in lists that also have other
/// elements.
std::string inline_table(const Json& table) {
    std::string members;
    for (const auto& [key, value] : table.items())
        if (!value.is_null())
            members += (members.empty() ? " " : ", ") + key_text(key) + " = " + value_text(value);
    return members.empty() ? "{}" : "{" + members + " }";
}

std::string float_text(double number) {
    if (std::isnan(number))
        return "nan";
    if (std::isinf(number))
        return number < 0 ? "-inf" : "inf";
    return base::dump(number);
}

std::string value_text(const Json& value) {
    if (value.is_string())
        return toml_string(value.get_ref<const std::string&>());
    if (value.is_array())
        return inline_list(value);
    if (value.is_object())
        return inline_table(value);
    return value.is_number_float() ? float_text(value.get<double>()) : base::dump(value);
}

bool is_list_of_tables(const Json& value) {
    return value.is_array() && !value.empty() &&
           std::all_of(value.begin(), value.end(), [](const Json& element) { return element.is_object(); });
}

bool has_header(const Json& value) {
    return value.is_object() || is_list_of_tables(value);
}

std::string plain_members(const Json& table) {
    std::string lines;
    for (const auto& [key, value] : table.items())
        if (!value.is_null() && !has_header(value))
            lines += key_text(key) + " = " + value_text(value) + "\n";
    return lines;
}

void add_tables(std::string& text, const Json& table, const std::string& prefix);

void add_header(std::string& text, const std::string& header) {
    text += (text.empty() ? "" : "\n") + header + "\n";
}

void add_table(std::string& text, const Json& table, const std::string& name) {
    const std::string lines = plain_members(table);
    const bool is_implied = lines.empty() && std::any_of(table.begin(), table.end(),
                                                         [](const Json& value) { return has_header(value); });
    if (!is_implied)
        add_header(text, "[" + name + "]");
    text += lines;
    add_tables(text, table, name + ".");
}

void add_tables(std::string& text, const Json& table, const std::string& prefix) {
    for (const auto& [key, value] : table.items()) {
        const std::string name = prefix + key_text(key);
        if (value.is_object())
            add_table(text, value, name);
        else if (is_list_of_tables(value))
            for (const Json& element : value) {
                add_header(text, "[[" + name + "]]");
                text += plain_members(element);
                add_tables(text, element, name + ".");
            }
    }
}

} // namespace

std::string toml_string(std::string_view text) {
    constexpr std::string_view special = "\b\t\n\f\r\"\\";
    constexpr std::string_view letters = "btnfr\"\\";
    std::string quoted = "\"";
    for (const char c : text) {
        if (const std::size_t at = special.find(c); at != std::string_view::npos) {
            quoted += {'\\', letters[at]};
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\u%04X", static_cast<unsigned>(c));
            quoted += escape.data();
        } else {
            quoted += c;
        }
    }
    return quoted + "\"";
}

std::string to_toml(const Json& table) {
    if (!table.is_object())
        return {};
    std::string text = plain_members(table);
    add_tables(text, table, "");
    return text;
}

} // namespace gpuhost::runtime
