// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"

namespace gpuhost::base {
namespace {

constexpr int max_depth = 64; // deeper than any of gpuhost's documents; bounds the parser's recursion

bool too_deep(std::string_view text) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max_depth)
                return true;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
}

tl::unexpected<Error> wrong(std::string_view key, std::string_view wanted) {
    return fail(Errc::BadContent, "key '" + std::string(key) + "': missing or not " + std::string(wanted));
}

} // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
    if (too_deep(text))
        return fail(Errc::BadContent, std::string(what) + ": JSON nested too deeply");
    Json value = Json::parse(text, nullptr, false);
    if (value.is_discarded())
        return fail(Errc::BadContent, std::string(what) + ": not valid JSON");
    return value;
}

Result<Json> parse_json_list(std::string_view text, std::string_view what, std::string_view key,
                             const std::function<Result<void>(const Json&)>& take) {
    if (too_deep(text))
        return fail(Errc::BadContent, std::string(what) + ": JSON nested too deeply");
    bool inside = key.empty();
    const int list_depth = key.empty() ? 1 : 2;
    Result<void> taken;
    const auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::key && depth == 1 && !key.empty())
            inside = parsed.is_string() && parsed.get_ref<const std::string&>() == key;
        if (event != Json::parse_event_t::object_end || depth != list_depth || !inside)
            return true;
        if (taken)
            taken = take(parsed);
        return false;
    };
    Json value = Json::parse(text, callback, false);
    if (value.is_discarded())
        return fail(Errc::BadContent, std::string(what) + ": not valid JSON");
    if (!taken)
        return fail(std::move(taken).error());
    return value;
}

const Json& member(const Json& object, std::string_view key) {
    static const Json null;
    if (!object.is_object())
        return null;
    const auto it = object.find(std::string(key));
    return it == object.end() ? null : *it;
}

const Json& list_of(const Json& object, std::string_view key) {
    static const Json empty = Json::array();
    const Json& value = member(object, key);
    return value.is_array() ? value : empty;
}

Result<std::string> get_string(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    if (!value.is_string())
        return wrong(key, "a string");
    return value.get_ref<const std::string&>();
}

Result<std::int64_t> get_int(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    if (!value.is_number_integer())
        return wrong(key, "an integer");
    return value.get<std::int64_t>();
}

Result<bool> get_bool(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    if (!value.is_boolean())
        return wrong(key, "a boolean");
    return value.get<bool>();
}

Result<std::vector<std::string>> get_strings(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    if (!value.is_array())
        return wrong(key, "a list of strings");
    std::vector<std::string> strings;
    for (const Json& item : value) {
        if (!item.is_string())
            return wrong(key, "a list of strings");
        strings.push_back(item.get_ref<const std::string&>());
    }
    return strings;
}

std::string string_or(const Json& object, std::string_view key, std::string fallback) {
    return get_string(object, key).value_or(std::move(fallback));
}

std::int64_t int_or(const Json& object, std::string_view key, std::int64_t fallback) {
    return get_int(object, key).value_or(fallback);
}

bool bool_or(const Json& object, std::string_view key, bool fallback) {
    return get_bool(object, key).value_or(fallback);
}

std::vector<std::string> strings_or_empty(const Json& object, std::string_view key) {
    return get_strings(object, key).value_or(std::vector<std::string>{});
}

std::map<std::string, std::string> string_map_or_empty(const Json& object, std::string_view key) {
    std::map<std::string, std::string> map;
    const Json& value = member(object, key);
    if (value.is_object())
        for (const auto& [name, text] : value.items())
            if (text.is_string())
                map[name] = text.get_ref<const std::string&>();
    return map;
}

std::string dump(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dump_pretty(const Json& value) {
    return value.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const Error& error) {
    return Json{{"code", info(error.code).name}, {"message", error.message}, {"hint", error.hint}};
}

Error error_from_json(const Json& value) {
    return Error{errc_from_name(string_or(value, "code", "failed")),
                 string_or(value, "message", "unknown error"), string_or(value, "hint", "")};
}

} // namespace gpuhost::base
