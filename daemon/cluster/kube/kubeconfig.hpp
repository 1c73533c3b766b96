// SPDX-License-Identifier: Apache-2.0
// Reads the current context of a kubeconfig: the API server, how to verify it, and this host's credentials.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// A certificate, a key or a token. At most one member is not empty.
struct Material {
    std::string text; ///< inline value from the kubeconfig, decoded
    std::string path; ///< absolute path of its file

    [[nodiscard]] bool empty() const { return text.empty() && path.empty(); }
    friend bool operator==(const Material&, const Material&) = default;
};

struct Kubeconfig {
    std::string context;
    std::string cluster;
    std::string user;
    std::string server;      ///< "https://10.0.0.1:6443/prefix", without a trailing slash
    std::string server_name; ///< expected in the server's certificate; empty: the host in `server`
    std::string proxy;       ///< "http://…", "https://…" or "socks5://…"; empty: none
    Material authority;      ///< certificates, PEM; never empty
    Material certificate;    ///< PEM; set if and only if `key` is
    Material key;
    Material token; ///< in addition to the certificate, or instead of it

    friend bool operator==(const Kubeconfig&, const Kubeconfig&) = default;
};

/// Parses the current context of `text`: YAML or JSON, at most 1 MiB. Relative paths in it are relative to
/// `directory`, which is absolute. If kubectl also accepts the file, kubectl reads the same content. Features
/// of kubectl that are not supported (exec plug-ins, passwords, unverified servers, …) are errors that name
/// the feature. Other members, and the entries of other contexts, are ignored. A token file takes precedence
/// over a token.
[[nodiscard]] base::Result<Kubeconfig> parse_kubeconfig(std::string_view text, std::string_view what,
                                                        const std::string& directory);

/// Fails with BadContent if the token is empty or cannot be sent in an HTTP header. `what` begins the error
/// message.
[[nodiscard]] base::Result<void> check_token(std::string_view token, std::string_view what);

} // namespace gpuhost::cluster
