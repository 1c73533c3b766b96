// SPDX-License-Identifier: Apache-2.0
// The rules are those of client-go's tools/clientcmd (loader.go, client_config.go, validation.go).
#include "daemon/cluster/kube/kubeconfig.hpp"

#include "daemon/base/base64.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/yaml.hpp"
#include "daemon/cluster/kube/endpoint.hpp"
#include "daemon/cluster/kube/kubeconfig_types.hpp"
#include "daemon/content/crypto/client_certificate.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace gpuhost::cluster {

using base::Errc;
using base::Json;
using base::Result;
using base::string_or;

namespace {

constexpr std::size_t largest = 1U << 20U;

bool is_control(char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

std::string quote(std::string name) {
    std::replace_if(name.begin(), name.end(), is_control, '?');
    return "'" + name + "'";
}

/// An element of the lists "contexts", "clusters" and "users".
struct Entry {
    const Json& value;
    std::string where; ///< prefix of error messages about this entry
};

Result<Entry> find_entry(const Json& document, std::string_view kind, const std::string& name,
                         std::string_view what) {
    const std::string where = std::string(what) + ": " + std::string(kind) + " " + quote(name);
    for (const Json& entry : base::member(document, std::string(kind) + "s"))
        if (string_or(entry, "name", "") == name)
            return Entry{base::member(entry, kind), where};
    return base::fail(Errc::BadContent, where + " not found",
                      "List them with kubectl config view --kubeconfig " + std::string(what) + ".");
}

/// Finds the cluster or the user that the context names, and sets `name` to its name.
Result<Entry> follow(const Json& document, std::string_view kind, const Entry& context, std::string& name,
                     std::string_view what) {
    name = string_or(context.value, kind, "");
    if (name.empty())
        return base::fail(Errc::BadContent, context.where + ": has no " + std::string(kind),
                          "Set it with kubectl config set-context NAME --" + std::string(kind) + "=…");
    return find_entry(document, kind, name, what);
}

/// Returns the absolute path in the member `key`; "" if the member is absent or empty.
Result<std::string> parse_path(const Entry& entry, const std::string& key, const std::string& directory) {
    const std::string path = string_or(entry.value, key, "");
    if (std::any_of(path.begin(), path.end(), is_control))
        return base::fail(Errc::BadContent, entry.where + ": " + key + " is not a valid path");
    return path.empty() ? path : (std::filesystem::path(directory) / path).lexically_normal().string();
}

/// Reads the member KEY-data (the text itself) or KEY (a path). Fails if both are set, like other Kubernetes
/// clients.
Result<Material> read_material(const Entry& entry, const std::string& key, const std::string& directory) {
    GPUHOST_TRY(path, parse_path(entry, key, directory));
    const std::string data = string_or(entry.value, key + "-data", "");
    if (!data.empty() && !path.empty())
        return base::fail(Errc::BadContent, entry.where + ": has both " + key + " and " + key + "-data",
                          "Remove one of them.");
    return Material{base::decode_base64(data).value_or(""), path};
}

Result<void> check_kind(const Json& document, std::string_view what) {
    const std::string version = string_or(document, "apiVersion", "");
    const std::string kind = string_or(document, "kind", "");
    if ((version.empty() || version == "v1") && (kind.empty() || kind == "Config"))
        return {};
    return base::fail(Errc::BadContent,
                      std::string(what) + ": is not a kubeconfig, but of kind " + quote(kind) +
                          " and apiVersion " + quote(version),
                      "A kubeconfig has kind: Config and apiVersion: v1.");
}

Result<void> read_cluster(const Entry& cluster, const std::string& directory, Kubeconfig& config) {
    const std::string server = string_or(cluster.value, "server", "");
    if (server.empty())
        return base::fail(Errc::BadContent, cluster.where + ": has no server",
                          "Set it with kubectl config set-cluster NAME --server=https://HOST:6443.");
    const auto url = parse_server_url(server);
    if (!url)
        return base::fail(url.error().context(cluster.where + ": server " + quote(server)));
    config.server = *url;
    if (const std::string proxy = string_or(cluster.value, "proxy-url", ""); !proxy.empty()) {
        const auto proxy_url = parse_proxy_url(proxy);
        if (!proxy_url)
            return base::fail(proxy_url.error().context(cluster.where + ": proxy-url"));
        config.proxy = *proxy_url;
    }
    config.server_name = string_or(cluster.value, "tls-server-name", "");
    if (std::any_of(config.server_name.begin(), config.server_name.end(),
                    [](char c) { return is_control(c) || c == ' ' || c == '/'; }))
        return base::fail(Errc::BadContent, cluster.where + ": tls-server-name is not a valid host name");
    if (base::bool_or(cluster.value, "insecure-skip-tls-verify", false))
        return base::fail(Errc::Refused, cluster.where + ": has insecure-skip-tls-verify",
                          "Set certificate-authority-data instead: the server is always verified.");
    GPUHOST_TRY(authority, read_material(cluster, "certificate-authority", directory));
    if (authority.empty())
        return base::fail(Errc::Refused,
                          cluster.where + ": has no certificate-authority: any authority that this host "
                                          "trusts could issue the server's certificate",
                          "Set certificate-authority-data to the cluster's own; kubeadm stores it in "
                          "/etc/kubernetes/pki/ca.crt.");
    config.authority = authority;
    return {};
}

/// Fails if the user entry impersonates another user, has a password or runs a program.
Result<void> refuse_user(const Entry& user) {
    struct Refused {
        std::string_view key;
        std::string_view hint;
    };
    static constexpr std::string_view run =
        "Use a client certificate or a token file: gpuhost-cluster runs no other program.";
    static constexpr std::string_view password =
        "Use a client certificate or a token file: API servers accept no passwords.";
    static constexpr std::string_view as =
        "Give this host credentials of its own, with the rights that it needs.";
    static constexpr std::array refused{Refused{"exec", run},
                                        Refused{"auth-provider", run},
                                        Refused{"username", password},
                                        Refused{"password", password},
                                        Refused{"as", as},
                                        Refused{"as-uid", as},
                                        Refused{"as-groups", as},
                                        Refused{"as-user-extra", as}};
    for (const auto& [key, hint] : refused)
        if (const Json& value = base::member(user.value, key); !value.is_null()) {
            const bool nothing = (value.is_string() && value.get_ref<const std::string&>().empty()) ||
                                 (hint == as && value.empty());
            if (!nothing)
                return base::fail(Errc::Refused, user.where + ": has " + std::string(key), std::string(hint));
        }
    return {};
}

Result<void> read_user(const Entry& user, const std::string& directory, Kubeconfig& config) {
    GPUHOST_CHECK(refuse_user(user));
    GPUHOST_TRY(certificate, read_material(user, "client-certificate", directory));
    GPUHOST_TRY(key, read_material(user, "client-key", directory));
    if (certificate.empty() != key.empty())
        return base::fail(Errc::BadContent,
                          user.where + (key.empty() ? ": has a client-certificate without its client-key"
                                                    : ": has a client-key without its client-certificate"),
                          "Set both, or neither of them and a token.");
    GPUHOST_TRY(token_file, parse_path(user, "tokenFile", directory));
    const Material token{token_file.empty() ? string_or(user.value, "token", "") : "", token_file};
    if (certificate.empty() && token.empty())
        return base::fail(Errc::BadContent, user.where + ": has neither a client-certificate nor a token",
                          "Set client-certificate-data with client-key-data, tokenFile or token.");
    config.certificate = certificate;
    config.key = key;
    config.token = token;
    return {};
}

/// Checks the inline values. Files are checked when they are read.
Result<void> check_texts(const Kubeconfig& config, const Entry& cluster, const Entry& user) {
    if (!config.authority.text.empty())
        GPUHOST_CHECK(content::check_certificate(config.authority.text,
                                                 cluster.where + ": certificate-authority-data"));
    if (!config.certificate.text.empty())
        GPUHOST_CHECK(
            content::check_certificate(config.certificate.text, user.where + ": client-certificate-data"));
    if (!config.key.text.empty())
        GPUHOST_CHECK(content::check_private_key(config.key.text, user.where + ": client-key-data"));
    if (!config.token.text.empty())
        GPUHOST_CHECK(check_token(config.token.text, user.where + ": token"));
    return {};
}

} // namespace

Result<void> check_token(std::string_view token, std::string_view what) {
    const bool printable =
        std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (!token.empty() && printable)
        return {};
    return base::fail(Errc::BadContent,
                      std::string(what) +
                          (token.empty() ? ": is empty" : ": has blanks or control characters"),
                      "Provide only the token, as kubectl create token prints it.");
}

Result<Kubeconfig> parse_kubeconfig(std::string_view text, std::string_view what,
                                    const std::string& directory) {
    if (text.size() > largest)
        return base::fail(Errc::BadContent, std::string(what) + ": is larger than 1 MiB",
                          "Keep only this host's context in it: kubectl config view --raw --minify.");
    GPUHOST_TRY(document, base::parse_yaml(text, what, base::YamlReader::Kubectl));
    GPUHOST_CHECK(check_kubeconfig_types(document, what));
    GPUHOST_CHECK(check_kind(document, what));
    Kubeconfig config;
    config.context = string_or(document, "current-context", "");
    if (config.context.empty())
        return base::fail(Errc::BadContent, std::string(what) + ": has no current-context",
                          "Choose one with kubectl config use-context NAME --kubeconfig " +
                              std::string(what));
    GPUHOST_TRY(context, find_entry(document, "context", config.context, what));
    GPUHOST_TRY(cluster, follow(document, "cluster", context, config.cluster, what));
    GPUHOST_TRY(user, follow(document, "user", context, config.user, what));
    GPUHOST_CHECK(read_cluster(cluster, directory, config));
    GPUHOST_CHECK(read_user(user, directory, config));
    GPUHOST_CHECK(check_texts(config, cluster, user));
    return config;
}

} // namespace gpuhost::cluster
