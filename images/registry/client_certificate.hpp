// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuhost::images {

/// Verifies the client certificate of a TLS connection; `session` is its gnutls_session_t. Returns why the
/// certificate is not accepted; empty if an authority of the session certifies it and it is valid at present.
/// The name in the certificate is not checked, because the authority certifies only peers.
[[nodiscard]] std::string client_objection(void* session);

} // namespace gpuhost::images
