// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/crypto/cms.hpp"

namespace gpuhost::images {

constexpr std::string_view trust_directory = "/etc/gpuhost/trust.d";

/// Loads the authorities and revocation lists of /etc/gpuhost/trust.d: all *.pem, *.crt and *.crl. Fails if
/// one is unreadable, since it may be the list that revokes. Fails with AccessDenied if there are none,
/// because nothing could be trusted.
[[nodiscard]] base::Result<content::TrustAnchors> load_trust(const base::Root& root);

} // namespace gpuhost::images
