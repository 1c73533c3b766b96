// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/runtime/cdi/nodes.hpp"
#include "daemon/runtime/gpu/mig_minors.hpp"
#include "daemon/runtime/gpu/nvml_answer.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Finds GPUs that are partitioned into MIG instances, and what a container needs of each instance. Queries
/// the NVML of `driver`, but only if the host has a MIG instance.
class MigDevices {
  public:
    /// `host` and `nodes` must outlive the object.
    MigDevices(const base::Root& host, const NodeReader& nodes, const DriverFiles& driver);

    /// Returns the instances of a GPU; nullopt if the GPU is not partitioned. Omits instances that cannot be
    /// offered to containers, and adds the reason to problems().
    [[nodiscard]] std::optional<std::vector<MigNodes>> instances(const Gpu& gpu);
    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  private:
    [[nodiscard]] std::optional<MigNodes> find(const Gpu& gpu, const NvmlInstance& instance);

    const NodeReader& nodes_;
    std::set<unsigned> split_;              ///< minors of GPUs that have MIG instances in /proc
    std::vector<NvmlGpu> reported_;         ///< GPUs as NVML reported them
    std::optional<base::Error> nvml_error_; ///< why NVML reported no GPU
    MigMinors minors_;
    std::vector<std::string> problems_;
};

} // namespace gpuhost::runtime
