// SPDX-License-Identifier: Apache-2.0
// Decides by the name of a value whether the value is secret.
#pragma once

#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Converts "HTTP_Proxy-Password" to "httpproxypassword".
[[nodiscard]] std::string plain_name(std::string_view name);

/// Returns true for "password", "X-Auth-Token", "--api-key". Returns false for the name of a file that holds
/// a secret ("TokenFile").
[[nodiscard]] bool is_secret_name(std::string_view name);

/// Returns true for an option such as "--token", whose secret is the next argument.
[[nodiscard]] bool is_secret_option(std::string_view argument);

} // namespace gpuhost::ctl
