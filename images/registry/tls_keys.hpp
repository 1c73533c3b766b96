// SPDX-License-Identifier: Apache-2.0
// The host's certificate for peers, and the authorities that it accepts: three PEM files that systemd passes
// to the unit (LoadCredential=). No other user can therefore read the key file.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::images {

struct TlsKeys {
    std::string authorities; ///< ca.pem: certifies peers only
    std::string certificate; ///< cert.pem: this host's, with the intermediate certificates
    std::string key;         ///< key.pem
};

/// Reads the files in $CREDENTIALS_DIRECTORY. Fails with NotFound if the unit has no credentials.
[[nodiscard]] base::Result<TlsKeys> read_tls_keys();

} // namespace gpuhost::images
