// SPDX-License-Identifier: Apache-2.0
// Parses JSON without exceptions. All external input is read with parse_json and the typed getters.
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

/// Parses `text`; `what` names the document in the error. Depth is limited to 64. The last of duplicate keys
/// is kept.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view what);

/// Parses `text` like parse_json(), for lists of unbounded length. Passes each object in the array `key` of
/// the outermost object to `take`, and does not keep it. Fails with the first error of `take`. Returns the
/// rest, with the array empty. Without `key` the outermost value is the array.
[[nodiscard]] Result<Json> parse_json_list(std::string_view text, std::string_view what, std::string_view key,
                                           const std::function<Result<void>(const Json&)>& take);

/// Return typed members of an object. Fail with BadContent, naming the key, if it is absent or has another
/// type.
[[nodiscard]] Result<std::string> get_string(const Json& object, std::string_view key);
[[nodiscard]] Result<std::int64_t> get_int(const Json& object, std::string_view key);
[[nodiscard]] Result<bool> get_bool(const Json& object, std::string_view key);
[[nodiscard]] Result<std::vector<std::string>> get_strings(const Json& object, std::string_view key);

/// Return typed members, or a default if the key is absent or has another type. For gpuhost's own documents,
/// in which an absent key means the default.
[[nodiscard]] std::string string_or(const Json& object, std::string_view key, std::string fallback);
[[nodiscard]] std::int64_t int_or(const Json& object, std::string_view key, std::int64_t fallback);
[[nodiscard]] bool bool_or(const Json& object, std::string_view key, bool fallback);
[[nodiscard]] std::vector<std::string> strings_or_empty(const Json& object, std::string_view key);
/// Returns the members of an object that are strings.
[[nodiscard]] std::map<std::string, std::string> string_map_or_empty(const Json& object,
                                                                     std::string_view key);
/// Returns the member, or a null value.
[[nodiscard]] const Json& member(const Json& object, std::string_view key);

/// Returns one line, with invalid UTF-8 replaced. Never throws.
[[nodiscard]] std::string dump(const Json& value);
[[nodiscard]] std::string dump_pretty(const Json& value);

[[nodiscard]] Json to_json(const Error& error);
[[nodiscard]] Error error_from_json(const Json& value);

} // namespace gpuhost::base
