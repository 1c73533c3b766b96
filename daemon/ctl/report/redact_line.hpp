// SPDX-License-Identifier: Apache-2.0
// What one line says that is secret. Where it is not clear where a secret ends, the rest of the line goes with it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Where the first value begins that is secret by its name, or by an option in front of it; the line's size where the value
/// is not on this line; npos: there is none.
[[nodiscard]] std::size_t find_secret_value(std::string_view line);

/// Is this line the name of a pair whose value is secret, which the next line may have? ("- name: DB_PASSWORD")
[[nodiscard]] bool names_secret(std::string_view line);
/// Is it nothing but an option whose value is? ("- --token")
[[nodiscard]] bool is_lone_option(std::string_view line);
/// Is such an option the last word of a command that goes on below? ("run --token \")
[[nodiscard]] bool ends_in_option(std::string_view line);

/// Credentials in URLs and in words like "user:password@host".
[[nodiscard]] std::string mask_credentials(std::string line);
/// Of RFC 6750 and RFC 7617, and RFC 7519, whose first part is "{\"" in base64.
[[nodiscard]] std::string mask_tokens(std::string line);

} // namespace gpuhost::ctl
