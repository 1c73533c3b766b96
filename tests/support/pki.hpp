// SPDX-License-Identifier: Apache-2.0
// Creates a site's certificates for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::tests {

struct CertificateRequest {
    std::string name = "Release key";
    bool authority = false;
    std::int64_t from = -3600;     ///< seconds from now
    std::int64_t until = 86'400;   ///< likewise
    std::string key_usage;         ///< as in openssl.cnf: "critical,digitalSignature"; empty: no extension
    std::string extended_usage;    ///< "codeSigning"; empty: no extension
    std::string alternative_names; ///< "DNS:localhost"; empty: no extension
    int bits = 0;                  ///< RSA key size; 0: P-256, which is generated quickly
    long serial = 1;
};

struct Identity {
    std::string key;         ///< PEM, not encrypted
    std::string certificate; ///< PEM
};

/// Signed by `issuer`, or self-signed without one.
[[nodiscard]] Identity make_identity(const CertificateRequest& request, const Identity* issuer = nullptr);
/// Returns PEM, valid from one hour ago until `until` seconds from now.
[[nodiscard]] std::string make_revocation_list(const Identity& issuer, const std::vector<long>& serials,
                                               std::int64_t until = 86'400);
[[nodiscard]] std::string make_pkcs12(const Identity& identity, const std::string& passphrase);
/// Returns the key as encrypted PEM.
[[nodiscard]] std::string encrypted_key(const Identity& identity, const std::string& passphrase);
/// Signs `content` as CMS with the digest of this OpenSSL name: "SHA1".
[[nodiscard]] std::string sign_with_digest(const Identity& identity, const std::string& content,
                                           const char* digest, bool detached = false);

} // namespace gpuhost::tests
