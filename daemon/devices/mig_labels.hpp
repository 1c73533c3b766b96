// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/devices/label_group.hpp"
#include "daemon/devices/offer.hpp"

namespace gpuhost::devices {

/// Replaces the labels of whole GPUs by those of MIG instances, if MIG is on for a GPU (MigStrategy=single).
void add_single_labels(const Offer& offer, Labels& labels);

/// Adds labels of each profile, such as nvidia.com/mig-1g.10gb.count (MigStrategy=mixed).
void add_mixed_labels(const Offer& offer, Labels& labels);

} // namespace gpuhost::devices
