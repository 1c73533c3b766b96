// SPDX-License-Identifier: Apache-2.0
// Checks the format of certificates, keys and tokens, so that a wrong file is reported by name before TLS or
// HTTP fails.
#pragma once

#include "daemon/base/result.hpp"

#include <string_view>

namespace gpuhost::cluster {

/// Fails with BadContent if no PEM block of `pem` is a certificate. Other blocks, and text around them, are
/// allowed. `what` begins the error message.
[[nodiscard]] base::Result<void> check_certificates(std::string_view pem, std::string_view what);

/// Fails with BadContent if no PEM block is a private key, and with Refused if the key is encrypted with a
/// passphrase.
[[nodiscard]] base::Result<void> check_private_key(std::string_view pem, std::string_view what);

/// Fails with BadContent if the token is empty or cannot be sent in an HTTP header.
[[nodiscard]] base::Result<void> check_token(std::string_view token, std::string_view what);

} // namespace gpuhost::cluster
