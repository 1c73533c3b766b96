// SPDX-License-Identifier: Apache-2.0
// What certificates, keys and tokens look like, so that a wrong file is named before TLS or HTTP trips over it.
#pragma once

#include "daemon/base/result.hpp"

#include <string_view>

namespace gpuhost::cluster {

/// BadContent where no block is a certificate; other blocks and text around them are no mistake.
[[nodiscard]] base::Result<void> check_certificates(std::string_view pem, std::string_view what);

/// BadContent where no block is a private key; Refused where it is one that a passphrase locks.
[[nodiscard]] base::Result<void> check_private_key(std::string_view pem, std::string_view what);

/// BadContent where it is empty or no HTTP header could carry it.
[[nodiscard]] base::Result<void> check_token(std::string_view token, std::string_view what);

} // namespace gpuhost::cluster
