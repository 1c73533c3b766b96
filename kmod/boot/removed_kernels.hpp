// SPDX-License-Identifier: Apache-2.0
// Finds and removes gpuhost's files for kernels that are no longer installed. If such a kernel were installed
// again, it would boot a driver of the store because of these files.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// gpuhost's files for one removed kernel, with their content, so that undo can restore them. A member is
/// empty if its file does not exist.
struct RemovedKernel {
    std::string release;
    std::string modules; ///< target of /lib/modules/<release>/updates/gpuhost
    std::string record;  ///< content of selected/<release> in the store
    std::string boot;    ///< target of boot/<release> in the store
};
[[nodiscard]] base::Json to_json(const RemovedKernel& kernel);
[[nodiscard]] RemovedKernel gone_kernel_from_json(const base::Json& value);

/// Returns the kernels that are not installed but still have files of gpuhost, in order of release. Never
/// returns `running`, the release of the running kernel.
[[nodiscard]] std::vector<RemovedKernel> find_removed_kernels(const base::Root& root,
                                                              const std::string& running);

/// Step store.forget: removes the files for one kernel, each link before its target. Undo restores the files.
/// Fails with InUse if the kernel is installed again. args: to_json() of a RemovedKernel.
[[nodiscard]] core::StepCode store_forget_code();

} // namespace gpuhost::kmod
