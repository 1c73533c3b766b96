// SPDX-License-Identifier: Apache-2.0
// A site's certificates, made for a test.
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
    int bits = 0;                  ///< of an RSA key; 0: P-256, which is made at once
    long serial = 1;
};

struct Identity {
    std::string key;         ///< PEM, not encrypted
    std::string certificate; ///< PEM
};

/// Signed by `issuer`, or by itself without one.
[[nodiscard]] Identity make_identity(const CertificateRequest& request, const Identity* issuer = nullptr);
/// PEM; valid from an hour ago until `until` seconds from now.
[[nodiscard]] std::string make_revocation_list(const Identity& issuer, const std::vector<long>& serials,
                                               std::int64_t until = 86'400);
[[nodiscard]] std::string make_pkcs12(const Identity& identity, const std::string& passphrase);
/// The key, encrypted.
[[nodiscard]] std::string encrypted_key(const Identity& identity, const std::string& passphrase);
/// CMS over `content` with a digest of OpenSSL's choice of name: "SHA1".
[[nodiscard]] std::string sign_with_digest(const Identity& identity, const std::string& content,
                                           const char* digest, bool detached = false);

} // namespace gpuhost::tests
