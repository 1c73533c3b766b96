// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"
#include "daemon/ctl/cli/verb.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

inline constexpr Option fetch_socket_option{
    "socket", "PATH", "the socket of gpuhost-fetch.socket, by default /run/gpuhost/fetch"};

/// Asks gpuhost-fetch to fetch these bundles from peers, or the configured ones, and follows their imports.
/// Adds the documents of operations to document["operations"], and errors to document["errors"]. Prints both,
/// and returns the exit status. With `next`, prints the commands that use what was imported.
[[nodiscard]] base::Result<int> fetch_bundles(Session& session, const std::vector<std::string>& names,
                                              base::Json& document, bool next);

} // namespace gpuhost::ctl
