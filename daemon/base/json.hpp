// SPDX-License-Identifier: Apache-2.0
// JSON without exceptions. Everything read from outside goes through parse_json and the typed getters.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace gpuhost::base {

using Json = nlohmann::json;

/// `what` names the document in the error. Depth is limited to 64, duplicates keep the last value.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view what);

/// The same, with the objects in the array `key` of the outermost object given to `take` one by one and not kept:
/// for lists whose length is the sender's choice. The first error of `take` ends it. The rest is returned, with the
/// array empty. With no `key` the outermost value is the array.
[[nodiscard]] Result<Json> parse_json_list(std::string_view text, std::string_view what, std::string_view key,
                                           const std::function<Result<void>(const Json&)>& take);

/// Typed members of an object. Absent or of another type: BadContent naming the key.
[[nodiscard]] Result<std::string> get_string(const Json& object, std::string_view key);
[[nodiscard]] Result<std::int64_t> get_int(const Json& object, std::string_view key);
[[nodiscard]] Result<bool> get_bool(const Json& object, std::string_view key);
[[nodiscard]] Result<std::vector<std::string>> get_strings(const Json& object, std::string_view key);

/// The same with a default for an absent key or another type: for our own documents, where absent means
/// default.
[[nodiscard]] std::string string_or(const Json& object, std::string_view key, std::string fallback);
[[nodiscard]] std::int64_t int_or(const Json& object, std::string_view key, std::int64_t fallback);
[[nodiscard]] bool bool_or(const Json& object, std::string_view key, bool fallback);
[[nodiscard]] std::vector<std::string> strings_or_empty(const Json& object, std::string_view key);
/// An object's members that are strings.
[[nodiscard]] std::map<std::string, std::string> string_map_or_empty(const Json& object,
                                                                     std::string_view key);
/// The member, or a null value.
[[nodiscard]] const Json& member(const Json& object, std::string_view key);

/// One line, invalid UTF-8 replaced; never throws.
[[nodiscard]] std::string dump(const Json& value);
[[nodiscard]] std::string dump_pretty(const Json& value);

[[nodiscard]] Json to_json(const Error& error);
[[nodiscard]] Error error_from_json(const Json& value);

} // namespace gpuhost::base
