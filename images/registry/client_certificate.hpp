// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuhost::images {

/// Returns why the peer of this gnutls_session_t gets no answer. The peer needs a client certificate that the
/// session's authorities vouch for at present. Empty: the peer is accepted. The name in the certificate does
/// not matter, because the authority certifies peers only.
[[nodiscard]] std::string client_objection(void* session);

} // namespace gpuhost::images
