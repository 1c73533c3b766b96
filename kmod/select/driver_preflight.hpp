// SPDX-License-Identifier: Apache-2.0
// Checks before a swap, while the host is in use. They return all problems, not only the first, and change
// nothing.
#pragma once

#include "kmod/step_kind.hpp"

namespace gpuhost::kmod {

/// Checks the sets by digest, the firmware, and the free space on disk; for a kernel that is not running also
/// the modules' signatures.
[[nodiscard]] PreflightResult prepare_preflight(core::StepContext& context, const base::Json& args);
/// Checks for others' files at our paths, and for other drivers' modprobe rules.
[[nodiscard]] PreflightResult select_preflight(core::StepContext& context, const base::Json& args);
/// Checks that this kernel will accept the modules (vermagic, symbols, signatures), and that no loaded module
/// prevents the change.
[[nodiscard]] PreflightResult converge_preflight(core::StepContext& context, const base::Json& args);

} // namespace gpuhost::kmod
