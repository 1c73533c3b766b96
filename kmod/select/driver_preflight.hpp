// SPDX-License-Identifier: Apache-2.0
// The preflight of driver.prepare, driver.select and modules.converge: checks before a swap, while the host
// is in use. They return all problems, not only the first, and change nothing.
#pragma once

#include "kmod/step_code.hpp"

namespace gpuhost::kmod {

/// Checks the digests of the sets in the store, the GSP firmware, and the free disk space. For a kernel that
/// is not running, also checks the signatures of the modules.
[[nodiscard]] PreflightResult prepare_preflight(core::StepContext& context, const base::Json& args);
/// Checks that no file of an administrator or another package is at a path that driver.select changes. Checks
/// that no other driver's modules, libraries or modprobe rules would be used.
[[nodiscard]] PreflightResult select_preflight(core::StepContext& context, const base::Json& args);
/// Checks that the running kernel will accept the modules (vermagic, symbols, signatures), and that no loaded
/// module prevents the swap. Waits until modules that are being loaded are loaded, at most
/// module_deadline_usec.
[[nodiscard]] PreflightResult converge_preflight(core::StepContext& context, const base::Json& args);

} // namespace gpuhost::kmod
