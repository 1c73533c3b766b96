// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/request.hpp"

namespace gpuhost::ctl {

/// Returns the request that applies the configuration. The option "only" names parts of it.
[[nodiscard]] client::Request apply_request(const client::Options& only);

} // namespace gpuhost::ctl
