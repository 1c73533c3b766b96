// SPDX-License-Identifier: Apache-2.0
// The protocol between 'gpuhostctl bundle fetch' and gpuhost-fetch, on a socket that only root may connect
// to: one line of JSON at a time. gpuhostctl sends {"bundles": [name…]}; an empty list means those in the
// configuration. It receives {"note": text}, {"operation": id}, {"error": error}…, and finally {"status": the
// exit status}.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::client {

inline constexpr std::string_view fetch_socket = "/run/gpuhost/fetch";

/// Connects and sends the request.
[[nodiscard]] base::Result<base::UniqueFd> ask_to_fetch(const std::string& path,
                                                        const std::vector<std::string>& bundles);
/// Reads a line without its end. Fails with Interrupted at the end of the stream, and with Timeout after
/// `patience_ms`; -1 waits indefinitely.
[[nodiscard]] base::Result<std::string> read_fetch_line(int socket, std::string& buffer, int patience_ms);
[[nodiscard]] base::Result<std::vector<std::string>> read_fetch_request(int socket);

} // namespace gpuhost::client
