// SPDX-License-Identifier: Apache-2.0
// What is left of kernels that are no longer installed: by which they would boot a driver of the store.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Its files as they stand there, for them to come back as they were; empty: there is none.
struct GoneKernel {
    std::string release;
    std::string modules; ///< where /lib/modules/<release>/updates/gpuhost leads
    std::string record;  ///< text of selected/<release>
    std::string boot;    ///< where boot/<release> leads
};
[[nodiscard]] base::Json to_json(const GoneKernel& kernel);
[[nodiscard]] GoneKernel gone_kernel_from_json(const base::Json& value);

/// In order of release; never `running`.
[[nodiscard]] std::vector<GoneKernel> find_gone_kernels(const base::Root& root, const std::string& running);

/// Step store.forget: takes these files away, what leads to another one first, and puts them back when it is undone. args: a
/// GoneKernel.
[[nodiscard]] core::StepKind store_forget_kind();

} // namespace gpuhost::kmod
