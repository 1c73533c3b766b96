// SPDX-License-Identifier: Apache-2.0
// URLs in a kubeconfig: of the API server, and of a proxy on the way to it.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// "https://HOST[:PORT][/PREFIX]", its scheme in small letters, without a slash at its end. HOST is a name, an IPv4
/// address or an IPv6 one in brackets. The error says what is wrong with it, without saying it again.
[[nodiscard]] base::Result<std::string> parse_server_url(std::string_view text);

/// "http", "https" or "socks5", and maybe "USER:PASSWORD@" before the host.
[[nodiscard]] base::Result<std::string> parse_proxy_url(std::string_view text);

} // namespace gpuhost::cluster
