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

/// Parses `text`; `what` names the document in the error. More than 64 levels are an error. If a key occurs
/// twice, the last value is used.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view what);

/// Parses a document with a list of unbounded length. The list is the member `key` of the outermost object,
/// or the outermost value if `key` is empty. Passes each object of the list to `take` and does not store it.
/// Returns the rest of the document, with the list empty. Fails like parse_json(), and with the first error
/// of `take`.
[[nodiscard]] Result<Json> parse_json_list(std::string_view text, std::string_view what, std::string_view key,
                                           const std::function<Result<void>(const Json&)>& take);

/// Return a member of an object. Fail with BadContent, naming the key, if the member is missing or has
/// another type.
[[nodiscard]] Result<std::string> get_string(const Json& object, std::string_view key);
[[nodiscard]] Result<std::int64_t> get_int(const Json& object, std::string_view key);
[[nodiscard]] Result<bool> get_bool(const Json& object, std::string_view key);
[[nodiscard]] Result<std::vector<std::string>> get_strings(const Json& object, std::string_view key);

/// Return a member of an object, or a default if the member is missing or has another type. Used for
/// gpuhost's own documents, in which a missing key means the default.
[[nodiscard]] std::string string_or(const Json& object, std::string_view key, std::string fallback);
[[nodiscard]] std::int64_t int_or(const Json& object, std::string_view key, std::int64_t fallback);
[[nodiscard]] bool bool_or(const Json& object, std::string_view key, bool fallback);
[[nodiscard]] std::vector<std::string> strings_or_empty(const Json& object, std::string_view key);
/// Returns the string members of the nested object that `object` has under `key`; empty if `key` is missing.
[[nodiscard]] std::map<std::string, std::string> string_map_or_empty(const Json& object,
                                                                     std::string_view key);
/// Returns the member `key` if it is a list, else an empty list.
[[nodiscard]] const Json& list_of(const Json& object, std::string_view key);
/// Returns the member `key`; a null value if it is missing.
[[nodiscard]] const Json& member(const Json& object, std::string_view key);

/// Returns the value as text on one line, with invalid UTF-8 replaced. Never throws.
[[nodiscard]] std::string dump(const Json& value);
[[nodiscard]] std::string dump_pretty(const Json& value);

[[nodiscard]] Json to_json(const Error& error);
[[nodiscard]] Error error_from_json(const Json& value);

} // namespace gpuhost::base
