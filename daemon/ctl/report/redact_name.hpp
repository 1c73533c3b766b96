// SPDX-License-Identifier: Apache-2.0
// What a value is, as its name says.
#pragma once

#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// "HTTP_Proxy-Password" → "httpproxypassword"
[[nodiscard]] std::string plain_name(std::string_view name);

/// "password", "X-Auth-Token", "--api-key". Names of files that hold a secret ("TokenFile") tell none.
[[nodiscard]] bool is_secret_name(std::string_view name);

/// "--token" in front of its value, which is the next argument.
[[nodiscard]] bool is_secret_option(std::string_view argument);

} // namespace gpuhost::ctl
