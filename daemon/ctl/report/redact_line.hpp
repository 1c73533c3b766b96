// SPDX-License-Identifier: Apache-2.0
// Finds the secrets of a single line. If it is unclear where a secret ends, the rest of the line is masked.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Returns where the first secret value starts. A value is secret by its name, or by the option before it.
/// Returns the line's size if the value is on a later line; npos: there is none.
[[nodiscard]] std::size_t find_secret_value(std::string_view line);

/// Returns true if the line has the name of a pair whose value is secret and may be on the next line: "-
/// name: DB_PASSWORD".
[[nodiscard]] bool names_secret(std::string_view line);
/// Returns true if the line is only an option whose argument is secret: "- --token".
[[nodiscard]] bool is_lone_option(std::string_view line);
/// Returns true if the line is a command that continues on the next line, and its last word is such an
/// option: "run --token \".
[[nodiscard]] bool ends_in_option(std::string_view line);

/// Masks credentials in URLs and in words like "user:password@host".
[[nodiscard]] std::string mask_credentials(std::string line);
/// Masks tokens of the forms in RFC 6750, RFC 7617 and RFC 7519. A token of the last one starts with "{\"" in
/// base64.
[[nodiscard]] std::string mask_tokens(std::string line);

} // namespace gpuhost::ctl
