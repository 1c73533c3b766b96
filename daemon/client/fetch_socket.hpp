// SPDX-License-Identifier: Apache-2.0
// The protocol between 'gpuhostctl bundle fetch' and gpuhost-fetch, on a socket that only root may connect
// to. Each message is one line of JSON. gpuhostctl sends {"bundles": [name…]}; an empty list requests the
// bundles that the configuration names. gpuhost-fetch answers with {"note": text}, {"operation": id} and
// {"error": error}, each any number of times, and finally {"status": exit status}.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::client {

inline constexpr std::string_view fetch_socket = "/run/gpuhost/fetch";

/// Connects to gpuhost-fetch at `path` and sends it the request.
[[nodiscard]] base::Result<base::UniqueFd> ask_to_fetch(const std::string& path,
                                                        const std::vector<std::string>& bundles);
/// Returns the next line, without its line feed. `buffer` keeps the bytes that were received after the line.
/// Fails with Interrupted at the end of the stream, and with Timeout if no data arrives for `patience_ms`; -1
/// waits indefinitely.
[[nodiscard]] base::Result<std::string> read_fetch_line(int socket, std::string& buffer, int patience_ms);
[[nodiscard]] base::Result<std::vector<std::string>> read_fetch_request(int socket);

} // namespace gpuhost::client
