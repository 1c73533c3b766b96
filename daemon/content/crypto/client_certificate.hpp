// SPDX-License-Identifier: Apache-2.0
// Keys and certificates by which a server identifies this host.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::content {

/// Returns a new P-256 key in unencrypted PEM.
[[nodiscard]] base::Result<std::string> make_private_key();

struct Subject {
    std::string organization;
    std::string name; ///< CN
};

struct CertificateRequest {
    std::string pem;    ///< PKCS #10, RFC 2986
    std::string digest; ///< SHA-256 of the public key (SubjectPublicKeyInfo), in hexadecimal
};

/// Makes a certificate request, signed with `key` (PEM).
[[nodiscard]] base::Result<CertificateRequest> request_certificate(std::string_view key,
                                                                   const Subject& subject);

struct CertificateFacts {
    std::uint64_t from = 0; ///< seconds since 1970
    std::uint64_t until = 0;
    std::string name;   ///< CN of the subject
    std::string digest; ///< see CertificateRequest::digest
};

/// Fails with BadContent if the first certificate of `pem` is missing or invalid. Other blocks, and text
/// around them, are allowed. `what` begins the error message.
[[nodiscard]] base::Result<void> check_certificate(std::string_view pem, std::string_view what);

/// Fails with BadContent if `pem` has no valid private key, and with Refused if the key is encrypted with a
/// passphrase.
[[nodiscard]] base::Result<void> check_private_key(std::string_view pem, std::string_view what);

/// Reads the first certificate in `pem`.
[[nodiscard]] base::Result<CertificateFacts> read_certificate(std::string_view pem, std::string_view what);

} // namespace gpuhost::content
