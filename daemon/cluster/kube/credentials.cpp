// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/credentials.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/client_certificate.hpp"

namespace gpuhost::cluster {

using base::Result;

namespace {

constexpr std::size_t largest_token = 64U << 10U;

/// Returns the PEM text of `material`; empty if the kubeconfig has neither the text nor a file. Fails if
/// `check` does not accept the text of a file.
Result<std::string> read_pem(const base::Root& root, const Material& material, std::string_view what,
                             Result<void> (*check)(std::string_view, std::string_view)) {
    if (material.path.empty())
        return material.text;
    auto text = root.read(material.path);
    if (!text)
        return base::fail(text.error().context(what));
    GPUHOST_CHECK(check(*text, std::string(what) + ": " + material.path));
    return text;
}

Result<std::string> read_token(const base::Root& root, const Material& material) {
    if (material.path.empty())
        return material.text;
    const auto text = root.read(material.path, largest_token);
    if (!text)
        return base::fail(text.error().context("tokenFile"));
    const std::string_view token = base::trim(*text);
    GPUHOST_CHECK(check_token(token, "tokenFile: " + material.path));
    return std::string(token);
}

std::string stamp(const base::Root& root, const std::string& path) {
    const auto st = root.stat(path);
    if (!st)
        return path + " absent\n";
    const auto time = [](const timespec& at) {
        return std::to_string(at.tv_sec) + "." + std::to_string(at.tv_nsec);
    };
    return path + " " + std::to_string(st->st_dev) + ":" + std::to_string(st->st_ino) + " " +
           std::to_string(st->st_size) + " " + time(st->st_mtim) + " " + time(st->st_ctim) + "\n";
}

} // namespace

Result<Credentials> read_credentials(const base::Root& root, const Kubeconfig& config) {
    GPUHOST_TRY(authorities,
                read_pem(root, config.authority, "certificate-authority", content::check_certificate));
    GPUHOST_TRY(certificate,
                read_pem(root, config.certificate, "client-certificate", content::check_certificate));
    GPUHOST_TRY(key, read_pem(root, config.key, "client-key", content::check_private_key));
    GPUHOST_TRY(token, read_token(root, config.token));
    return Credentials{std::move(authorities), std::move(certificate), std::move(key), std::move(token)};
}

std::uint64_t expiry_of(const Credentials& credentials) {
    if (credentials.certificate.empty())
        return 0;
    const auto facts = content::read_certificate(credentials.certificate, "client-certificate");
    return facts ? facts->until : 0;
}

std::string credentials_fingerprint(const base::Root& root, const std::string& path,
                                    const Kubeconfig& config) {
    std::string fingerprint = stamp(root, path);
    for (const Material* material : {&config.authority, &config.certificate, &config.key, &config.token})
        if (!material->path.empty())
            fingerprint += stamp(root, material->path);
    return fingerprint;
}

std::vector<std::string> credentials_notes(const base::Root& root, const std::string& path,
                                           const Kubeconfig& config) {
    std::vector<std::string> notes;
    const auto look = [&](const std::string& file, std::string_view holds) {
        const auto st = root.stat(file);
        if (st && (st->st_mode & S_IROTH) != 0)
            notes.push_back("every user of this host can read " + file + ", which has " + std::string(holds) +
                            ": chmod o-r " + file);
    };
    if (!config.key.text.empty() || !config.token.text.empty())
        look(path, config.key.text.empty() ? "a token" : "a private key");
    if (!config.key.path.empty())
        look(config.key.path, "a private key");
    if (!config.token.path.empty())
        look(config.token.path, "a token");
    return notes;
}

} // namespace gpuhost::cluster
