// SPDX-License-Identifier: Apache-2.0
// Between 'gpuhostctl bundle fetch' and gpuhost-fetch, on a socket that only root may connect to: one line of JSON each
// way at a time. gpuhostctl says {"bundles": [name…]}, none for those that the configuration names; it is told
// {"note": text}, {"operation": id}, {"error": error}…, and at last {"status": the exit status}.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

inline constexpr std::string_view fetch_socket = "/run/gpuhost/fetch";

/// Connects and asks.
[[nodiscard]] base::Result<base::UniqueFd> ask_to_fetch(const std::string& path,
                                                        const std::vector<std::string>& bundles);
/// A line without its end; Interrupted where nothing more comes. `patience_ms`: -1 to wait for ever.
[[nodiscard]] base::Result<std::string> read_fetch_line(int socket, std::string& buffer, int patience_ms);
[[nodiscard]] base::Result<std::vector<std::string>> read_fetch_request(int socket);

} // namespace gpuhost::ctl
