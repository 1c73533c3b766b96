// SPDX-License-Identifier: Apache-2.0
// URLs of servers: in a kubeconfig of the API server, and of a proxy on the way to it; in a policy of a Prometheus.
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

/// "http" or "https", else as parse_server_url().
[[nodiscard]] base::Result<std::string> parse_http_url(std::string_view text);

} // namespace gpuhost::cluster
