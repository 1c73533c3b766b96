// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inventory.hpp"

namespace gpuhost::ctl {

/// What the files of a host say, without its daemon and without privileges. What can't be read is left out, but for the
/// store, in which nothing must be missing.
[[nodiscard]] base::Result<images::Inventory> read_inventory(const base::Root& root);

} // namespace gpuhost::ctl
