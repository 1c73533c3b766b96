// SPDX-License-Identifier: Apache-2.0
// The members that are read follow client-go's tools/clientcmd (loader.go, client_config.go, validation.go).
// Contexts, clusters and users other than the current ones are not checked.
#include "daemon/cluster/kube/kubeconfig.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/yaml.hpp"
#include "daemon/cluster/kube/endpoint.hpp"
#include "daemon/content/crypto/base64.hpp"
#include "daemon/content/crypto/client_certificate.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace gpuhost::cluster {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t largest = 1U << 20U;

bool is_control(char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

std::string quote(std::string name) {
    std::replace_if(name.begin(), name.end(), is_control, '?');
    return "'" + name + "'";
}

/// The document, a context, a cluster or a user.
struct Entry {
    const Json& members;
    std::string where; ///< prefix of error messages: the file and the entry

    [[nodiscard]] tl::unexpected<base::Error> fail(const std::string& problem, std::string hint = {},
                                                   Errc code = Errc::BadContent) const {
        return base::fail(code, where + ": " + problem, std::move(hint));
    }

    /// Returns the string `key`; "" if it is absent or null.
    [[nodiscard]] Result<std::string> text(const std::string& key) const {
        const Json& value = base::member(members, key);
        if (!value.is_null() && !value.is_string())
            return fail(key + " is not a string", "Put it in quotes.");
        return value.is_null() ? std::string() : value.get<std::string>();
    }

    /// Returns the absolute path in the member `key`; "" if the member is absent or empty.
    [[nodiscard]] Result<std::string> path_in(const std::string& key, const std::string& directory) const {
        GPUHOST_TRY(path, text(key));
        if (std::any_of(path.begin(), path.end(), is_control))
            return fail(key + " is not a valid path");
        return path.empty() ? path : (std::filesystem::path(directory) / path).lexically_normal().string();
    }

    /// Reads the member KEY-data, which `check` must accept, or the member KEY, a path. Like other Kubernetes
    /// clients, fails if both are set. Files are checked when they are read.
    [[nodiscard]] Result<Material> material(const std::string& key, const std::string& directory,
                                            Result<void> (*check)(std::string_view, std::string_view)) const {
        GPUHOST_TRY(path, path_in(key, directory));
        GPUHOST_TRY(data, text(key + "-data"));
        if (data.empty())
            return Material{"", path};
        if (!path.empty())
            return fail("has both " + key + " and " + key + "-data", "Remove one of them.");
        const auto pem = content::decode_base64(data);
        if (!pem)
            return fail(key + "-data is not valid base64", "Encode the file with base64 -w0 FILE.");
        GPUHOST_CHECK(check(*pem, where + ": " + key + "-data"));
        return Material{*pem, ""};
    }
};

/// Finds the entry `name` in the list of this kind: "contexts", "clusters" or "users". Names must be unique.
Result<Entry> find_entry(const Entry& document, const std::string& kind, const std::string& name) {
    const Json& list = base::member(document.members, kind + "s");
    if (!list.is_null() && !list.is_array())
        return document.fail(kind + "s is not a list", "Begin each of its entries with '- '.");
    std::set<std::string> names;
    const Json* found = nullptr;
    for (const Json& entry : list) {
        const auto [at, is_first] = names.insert(base::string_or(entry, "name", ""));
        if (!is_first)
            return document.fail(kind + " " + quote(*at) + " is defined twice", "Remove one of the two.");
        if (*at == name)
            found = &base::member(entry, kind);
    }
    const std::string what = kind + " " + quote(name);
    if (found == nullptr)
        return document.fail(what + " not found",
                             "List them with kubectl config view --kubeconfig " + document.where + ".");
    return Entry{*found, document.where + ": " + what};
}

/// Finds the cluster or the user that the context names, and sets `name` to its name.
Result<Entry> follow(const Entry& document, const Entry& context, const std::string& kind,
                     std::string& name) {
    GPUHOST_TRY(text, context.text(kind));
    name = text;
    if (name.empty())
        return context.fail("has no " + kind, "Set it with kubectl config set-context NAME --" + kind + "=…");
    return find_entry(document, kind, name);
}

Result<void> check_kind(const Entry& document) {
    if (!document.members.is_object())
        return document.fail("is not a kubeconfig: it is not a map");
    GPUHOST_TRY(version, document.text("apiVersion"));
    GPUHOST_TRY(kind, document.text("kind"));
    if ((version.empty() || version == "v1") && (kind.empty() || kind == "Config"))
        return {};
    return document.fail("is not a kubeconfig, but of kind " + quote(kind) + " and apiVersion " +
                             quote(version),
                         "A kubeconfig has kind: Config and apiVersion: v1.");
}

/// Reads how to reach the server of the cluster.
Result<void> read_server(const Entry& cluster, Kubeconfig& config) {
    GPUHOST_TRY(server, cluster.text("server"));
    if (server.empty())
        return cluster.fail("has no server",
                            "Set it with kubectl config set-cluster NAME --server=https://HOST:6443.");
    const auto url = parse_server_url(server);
    if (!url)
        return base::fail(url.error().context(cluster.where + ": server " + quote(server)));
    config.server = *url;
    GPUHOST_TRY(proxy, cluster.text("proxy-url"));
    if (!proxy.empty()) {
        const auto proxy_url = parse_proxy_url(proxy);
        if (!proxy_url)
            return base::fail(proxy_url.error().context(cluster.where + ": proxy-url"));
        config.proxy = *proxy_url;
    }
    GPUHOST_TRY(name, cluster.text("tls-server-name"));
    if (std::any_of(name.begin(), name.end(), [](char c) { return is_control(c) || c == ' ' || c == '/'; }))
        return cluster.fail("tls-server-name is not a valid host name");
    config.server_name = name;
    return {};
}

/// Reads how to verify the server of the cluster.
Result<void> read_authority(const Entry& cluster, const std::string& directory, Kubeconfig& config) {
    if (const Json& insecure = base::member(cluster.members, "insecure-skip-tls-verify");
        !insecure.is_null() && insecure != false)
        return cluster.fail("has insecure-skip-tls-verify",
                            "Remove it and set certificate-authority-data: the server is always verified.",
                            Errc::Refused);
    GPUHOST_TRY(authority, cluster.material("certificate-authority", directory, content::check_certificate));
    if (authority.empty())
        return cluster.fail("has no certificate-authority: any authority that this host trusts could issue "
                            "the server's certificate",
                            "Set certificate-authority-data to the cluster's own; kubeadm stores it in "
                            "/etc/kubernetes/pki/ca.crt.",
                            Errc::Refused);
    config.authority = authority;
    return {};
}

/// Fails if the user entry impersonates another user, has a password or runs a program.
Result<void> refuse_user(const Entry& user) {
    static constexpr const char* run =
        "Use a client certificate or a token file: gpuhost-cluster runs no other program.";
    static constexpr const char* password =
        "Use a client certificate or a token file: API servers accept no passwords.";
    static constexpr const char* as = "Give this host credentials of its own, with the rights that it needs.";
    static constexpr std::pair<const char*, const char*> refused[] = {
        {"exec", run}, {"auth-provider", run}, {"username", password}, {"password", password},
        {"as", as},    {"as-uid", as},         {"as-groups", as},      {"as-user-extra", as}};
    for (const auto& [key, hint] : refused)
        if (const Json& value = base::member(user.members, key); !value.is_null() && value != "")
            return user.fail(std::string("has ") + key, hint, Errc::Refused);
    return {};
}

Result<void> read_user(const Entry& user, const std::string& directory, Kubeconfig& config) {
    GPUHOST_CHECK(refuse_user(user));
    GPUHOST_TRY(certificate, user.material("client-certificate", directory, content::check_certificate));
    GPUHOST_TRY(key, user.material("client-key", directory, content::check_private_key));
    if (certificate.empty() != key.empty())
        return user.fail(key.empty() ? "has a client-certificate without its client-key"
                                     : "has a client-key without its client-certificate",
                         "Set both, or neither of them and a token.");
    GPUHOST_TRY(token, user.text("token"));
    GPUHOST_TRY(token_file, user.path_in("tokenFile", directory));
    if (!token_file.empty())
        token.clear();
    if (certificate.empty() && token.empty() && token_file.empty())
        return user.fail("has neither a client-certificate nor a token",
                         "Set client-certificate-data with client-key-data, tokenFile or token.");
    if (!token.empty())
        GPUHOST_CHECK(check_token(token, user.where + ": token"));
    config.certificate = certificate;
    config.key = key;
    config.token = {token, token_file};
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
    GPUHOST_TRY(members, base::parse_yaml(text, what));
    const Entry document{members, std::string(what)};
    GPUHOST_CHECK(check_kind(document));
    Kubeconfig config;
    GPUHOST_TRY(name, document.text("current-context"));
    config.context = name;
    if (name.empty())
        return document.fail("has no current-context",
                             "Choose one with kubectl config use-context NAME --kubeconfig " +
                                 document.where);
    GPUHOST_TRY(context, find_entry(document, "context", name));
    GPUHOST_TRY(cluster, follow(document, context, "cluster", config.cluster));
    GPUHOST_TRY(user, follow(document, context, "user", config.user));
    GPUHOST_CHECK(read_server(cluster, config));
    GPUHOST_CHECK(read_authority(cluster, directory, config));
    GPUHOST_CHECK(read_user(user, directory, config));
    return config;
}

} // namespace gpuhost::cluster
