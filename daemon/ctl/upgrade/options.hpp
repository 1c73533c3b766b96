// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/bundle/fetch.hpp"
#include "daemon/ctl/bundle/files.hpp"

namespace gpuhost::ctl {

inline constexpr Option peer_option{"peer", "BUNDLE", "fetch this bundle from other hosts of the site"};

} // namespace gpuhost::ctl
