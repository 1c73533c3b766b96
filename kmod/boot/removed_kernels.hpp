// SPDX-License-Identifier: Apache-2.0
// Files of kernels that are no longer installed. With them such a kernel would boot a driver of the store.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// The files as found, so that undo can restore them. Empty: the file does not exist.
struct GoneKernel {
    std::string release;
    std::string modules; ///< target of /lib/modules/<release>/updates/gpuhost
    std::string record;  ///< text of selected/<release>
    std::string boot;    ///< target of boot/<release>
};
[[nodiscard]] base::Json to_json(const GoneKernel& kernel);
[[nodiscard]] GoneKernel gone_kernel_from_json(const base::Json& value);

/// Returns the kernels in order of release, never `running`.
[[nodiscard]] std::vector<GoneKernel> find_removed_kernels(const base::Root& root,
                                                           const std::string& running);

/// Step store.forget: removes these files, a link before its target, and restores them on undo.
/// args: a GoneKernel.
[[nodiscard]] core::StepKind store_forget_kind();

} // namespace gpuhost::kmod
