// SPDX-License-Identifier: Apache-2.0
// Answers of the DNS about a service (RFC 6763). Who answers is not known, so nothing in them is trusted: a name is
// one that may stand in an address, or it is left out.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// The instances of a service that the PTR records name, as libresolv writes and reads them: a blank is "\032".
[[nodiscard]] base::Result<std::vector<std::string>> parse_instances(std::string_view answer);

/// "HOST:PORT" of the SRV records. Their priorities and weights say whom to ask first, and here all are asked at once.
[[nodiscard]] base::Result<std::vector<std::string>> parse_servers(std::string_view answer);

} // namespace gpuhost::images
