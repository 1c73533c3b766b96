// SPDX-License-Identifier: Apache-2.0
// What a host shows its peers, and whom it lets in: three files in PEM that systemd hands to the unit (LoadCredential=), so
// that no file of the key is readable for anybody else.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::images {

struct TlsKeys {
    std::string authorities; ///< ca.pem: of the peers, and of nobody else
    std::string certificate; ///< cert.pem: this host's, with those between it and the authority
    std::string key;         ///< key.pem
};

/// From $CREDENTIALS_DIRECTORY. NotFound if the unit got none.
[[nodiscard]] base::Result<TlsKeys> read_tls_keys();

} // namespace gpuhost::images
