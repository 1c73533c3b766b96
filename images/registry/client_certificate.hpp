// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuhost::images {

/// Returns why the peer of this gnutls_session_t gets no answer. Empty: the peer is accepted, because the
/// session's authorities certify its client certificate at present. The name in the certificate does not
/// matter, because the authority certifies peers only.
[[nodiscard]] std::string client_objection(void* session);

} // namespace gpuhost::images
