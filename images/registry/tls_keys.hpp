// SPDX-License-Identifier: Apache-2.0
// The host's certificate for connections with peers, and the authorities whose peer certificates the host
// accepts. They are three PEM files that systemd passes to the unit (LoadCredential=), so that only the unit
// can read them.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::images {

struct TlsKeys {
    std::string authorities; ///< ca.pem: the authorities; they must certify only peers
    std::string certificate; ///< cert.pem: this host's, with the intermediate certificates
    std::string key;         ///< key.pem
};

/// Reads the files in $CREDENTIALS_DIRECTORY. Fails with NotFound if the unit has no credentials.
[[nodiscard]] base::Result<TlsKeys> read_tls_keys();

} // namespace gpuhost::images
