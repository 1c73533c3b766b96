// SPDX-License-Identifier: Apache-2.0
// Steps store.publish and store.verify. store.publish makes root the owner of the sets that an unprivileged
// worker has staged, checks them and moves them into the store. store.verify checks sets in the store.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// Publishes all staged sets. args, all optional: {"version": the version that all sets must have, "kernels":
/// kernels for which module sets must be staged, "protect": versions that no set may have, else AccessDenied,
/// "optional": true: success if nothing was staged}.
[[nodiscard]] core::StepCode store_publish_code();

/// Hashes all files of these versions in the store and compares them with their manifests. args: {"versions":
/// […]}; empty: all versions.
[[nodiscard]] core::StepCode store_verify_code();

} // namespace gpuhost::kmod
