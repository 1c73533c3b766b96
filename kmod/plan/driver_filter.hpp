// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/driver_filter.hpp"
#include "daemon/core/settings.hpp"

namespace gpuhost::kmod {

/// Returns which drivers of a bundle this host imports, from its GPUs and [Driver] of gpuhostd.conf.
[[nodiscard]] core::DriverFilter driver_filter(const base::Root& root, const core::Settings& settings);

} // namespace gpuhost::kmod
