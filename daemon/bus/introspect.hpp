// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/bus/object.hpp"

#include <span>
#include <string>

namespace gpuhost::bus {

/// Returns the introspection XML of the object at `path`, without a bus: the output of `gpuhostd
/// --bus-introspect=PATH`.
[[nodiscard]] base::Result<std::string> introspect(const std::string& path,
                                                   std::span<const BusObject> objects);

} // namespace gpuhost::bus
