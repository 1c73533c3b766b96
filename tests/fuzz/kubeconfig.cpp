// SPDX-License-Identifier: Apache-2.0
// Parses kubeconfigs, and the PEM, base64 and URLs in them.
#include "daemon/cluster/kube/kubeconfig.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/endpoint.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

namespace {

void check(const cluster::Material& material) {
    fuzz::require(material.text.empty() || material.path.empty(), "the material is inline or in a file");
    fuzz::require(material.path.empty() || material.path.front() == '/', "paths are absolute");
    fuzz::require(material.path.find('\0') == std::string::npos, "paths contain no NUL");
}

void check(const cluster::Kubeconfig& config) {
    fuzz::require(base::starts_with(config.server, "https://") && config.server.back() != '/',
                  "the server is a URL");
    fuzz::require(cluster::parse_server_url(config.server).value_or("") == config.server,
                  "the server's URL is its own normal form");
    fuzz::require(!config.authority.empty(), "the server can be verified");
    fuzz::require(config.certificate.empty() == config.key.empty(), "a certificate has its key");
    fuzz::require(!config.certificate.empty() || !config.token.empty(), "the user has a credential");
    fuzz::require(!config.context.empty() && !config.cluster.empty() && !config.user.empty(),
                  "cluster, user and context have names");
    for (const auto* material : {&config.authority, &config.certificate, &config.key, &config.token})
        check(*material);
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto config = cluster::parse_kubeconfig(fuzz::text_of(data, size), "input", "/etc/gpuhost");
    if (config)
        check(*config);
    else
        fuzz::require(config.error().message.find('\n') == std::string::npos, "an error is one line");
    return 0;
}
