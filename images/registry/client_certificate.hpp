// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuhost::images {

/// Why the other end of this gnutls_session_t is not to be answered: no certificate, or none that the session's own
/// authorities stand for now, for use as a client. Empty: it may be. Nothing is asked of its name: the authority is
/// there for peers alone.
[[nodiscard]] std::string client_objection(void* session);

} // namespace gpuhost::images
