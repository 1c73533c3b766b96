// SPDX-License-Identifier: Apache-2.0
// What is looked at before a swap, while the host serves. All problems, not the first; nothing is touched.
#pragma once

#include "kmod/step_kind.hpp"

namespace gpuhost::kmod {

/// Sets intact by digest, firmware there, room on disk.
[[nodiscard]] PreflightResult prepare_preflight(core::StepContext& context, const base::Json& args);
/// Files of others where ours go, and other drivers' rules for modprobe.
[[nodiscard]] PreflightResult select_preflight(core::StepContext& context, const base::Json& args);
/// Modules that this kernel will take: built for it, symbols, signatures; and nothing in the kernel that bars
/// the way.
[[nodiscard]] PreflightResult converge_preflight(core::StepContext& context, const base::Json& args);

} // namespace gpuhost::kmod
