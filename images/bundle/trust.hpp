// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/crypto/cms.hpp"

namespace gpuhost::images {

constexpr std::string_view trust_directory = "/etc/gpuhost/trust.d";

/// Loads the certificates and revocation lists in /etc/gpuhost/trust.d: all files *.pem, *.crt and *.crl.
/// Fails if a file cannot be read, since it may be the list that revokes a signer. Fails with AccessDenied if
/// the directory has no certificate, because no signature could be verified.
[[nodiscard]] base::Result<content::TrustAnchors> load_trust(const base::Root& root);

} // namespace gpuhost::images
