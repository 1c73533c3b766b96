// SPDX-License-Identifier: Apache-2.0
// Parses URLs of servers: the API server and its proxy in a kubeconfig, Prometheus in a policy.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// Parses "https://HOST[:PORT][/PREFIX]". Returns it with a lower-case scheme and without a trailing slash.
/// HOST is a name, an IPv4 address, or an IPv6 address in brackets. The error says what is wrong, without
/// repeating the URL.
[[nodiscard]] base::Result<std::string> parse_server_url(std::string_view text);

/// Parses a URL with the scheme "http", "https" or "socks5". It may have "USER:PASSWORD@" before the host.
[[nodiscard]] base::Result<std::string> parse_proxy_url(std::string_view text);

/// Parses a URL with the scheme "http" or "https"; otherwise the same as parse_server_url().
[[nodiscard]] base::Result<std::string> parse_http_url(std::string_view text);

} // namespace gpuhost::cluster
