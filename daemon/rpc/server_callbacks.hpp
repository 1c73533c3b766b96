// SPDX-License-Identifier: Apache-2.0
#pragma once

struct nghttp2_session_callbacks;

namespace gpuhost::rpc {

/// Returns new callbacks for a session of nghttp2 whose user data is a ServerSession; null without memory.
[[nodiscard]] nghttp2_session_callbacks* make_server_callbacks();

} // namespace gpuhost::rpc
