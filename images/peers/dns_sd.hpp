// SPDX-License-Identifier: Apache-2.0
// Parses DNS answers about a service (RFC 6763). The answers are untrusted: a name that is invalid in a URL
// is left out.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// Returns the service instances in the PTR records, in libresolv's form: a blank is "\032".
[[nodiscard]] base::Result<std::vector<std::string>> parse_instances(std::string_view answer);

/// Returns the "HOST:PORT" of the SRV records. Ignores priorities and weights, because all peers are asked at
/// once.
[[nodiscard]] base::Result<std::vector<std::string>> parse_servers(std::string_view answer);

} // namespace gpuhost::images
