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

/// Finds GPUs that are partitioned into MIG instances, and the parts of each instance for a container.
/// Queries `driver`'s NVML only if the host has an instance.
class MigDevices {
  public:
    /// `host` and `nodes` must outlive it.
    MigDevices(const base::Root& host, const NodeReader& nodes, const DriverFiles& driver);

    /// Returns nothing for a GPU that is not partitioned. Omits instances that cannot be offered; problems()
    /// names them.
    [[nodiscard]] std::optional<std::vector<MigNodes>> instances(const Gpu& gpu);
    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  private:
    [[nodiscard]] std::optional<MigNodes> find(const Gpu& gpu, const NvmlInstance& instance);

    const NodeReader& nodes_;
    std::set<unsigned> split_; ///< minors of partitioned GPUs
    std::vector<NvmlGpu> told_;
    std::optional<base::Error> untold_; ///< why NVML listed none
    MigMinors minors_;
    std::vector<std::string> problems_;
};

} // namespace gpuhost::runtime
