// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/driver_filter.hpp"
#include "daemon/core/settings.hpp"

namespace gpuhost::kmod {

/// Returns the filter for the drivers of a bundle that this host imports: by its GPUs, and by Version= and
/// Flavour= of [Driver].
[[nodiscard]] core::DriverFilter driver_filter(const base::Root& root, const core::Settings& settings);

} // namespace gpuhost::kmod
