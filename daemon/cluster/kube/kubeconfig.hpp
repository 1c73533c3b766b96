// SPDX-License-Identifier: Apache-2.0
// A kubeconfig, as kubectl reads one: which API server, how it is known, and as whom this host comes to it.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// One of a certificate, a key, a token: at most one of both is not empty.
struct Material {
    std::string text; ///< as it stands in the kubeconfig, decoded
    std::string path; ///< of the file that has it, absolute

    [[nodiscard]] bool empty() const { return text.empty() && path.empty(); }
    friend bool operator==(const Material&, const Material&) = default;
};

struct Kubeconfig {
    std::string context;
    std::string cluster;
    std::string user;
    std::string server;      ///< "https://10.0.0.1:6443/prefix", without a slash at its end
    std::string server_name; ///< that the server's certificate must have; empty: the host in `server`
    std::string proxy;       ///< "http://…", "https://…" or "socks5://…"; empty: none
    Material authority;      ///< certificates, PEM; never empty
    Material certificate;    ///< PEM, with the key or not at all
    Material key;
    Material token; ///< beside the certificate or instead of it

    friend bool operator==(const Kubeconfig&, const Kubeconfig&) = default;
};

/// The current context of `text`, YAML or JSON, of at most a MiB. Relative paths in it begin at `directory`, which is
/// absolute. Whatever this takes, kubectl takes for the same; what kubectl takes and this does not (programs to run,
/// passwords, servers that nobody verifies, …) is named in the error. A token's file wins over a token beside it.
[[nodiscard]] base::Result<Kubeconfig> parse_kubeconfig(std::string_view text, std::string_view what,
                                                        const std::string& directory);

} // namespace gpuhost::cluster
