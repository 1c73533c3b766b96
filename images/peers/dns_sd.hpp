// SPDX-License-Identifier: Apache-2.0
// Parses DNS answers of service discovery (DNS-SD, RFC 6763). The answers are untrusted: names that are not
// valid host names are left out.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// Returns the targets of the PTR records: names of service instances, escaped as by libresolv (a blank is
/// "\032"). Fails with BadContent for a malformed answer.
[[nodiscard]] base::Result<std::vector<std::string>> parse_instances(std::string_view answer);

/// Returns "HOST:PORT" of each SRV record. Ignores priorities and weights, because all peers are asked at the
/// same time. Fails with BadContent for a malformed answer.
[[nodiscard]] base::Result<std::vector<std::string>> parse_servers(std::string_view answer);

} // namespace gpuhost::images
