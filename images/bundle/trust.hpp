// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/crypto/cms.hpp"

namespace gpuhost::images {

constexpr std::string_view trust_directory = "/etc/gpuhost/trust.d";

/// Authorities and revocation lists of /etc/gpuhost/trust.d: all *.pem, *.crt and *.crl. One that can't be read is an
/// error, since it may be the list that revokes. None at all is AccessDenied: nothing could be trusted.
[[nodiscard]] base::Result<content::TrustAnchors> load_trust(const base::Root& root);

} // namespace gpuhost::images
