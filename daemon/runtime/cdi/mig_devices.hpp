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

/// Which GPUs are split into instances of MIG, and what a container gets of each instance. Asks NVML, that of `driver`, on
/// a host that has an instance and on no other.
class MigDevices {
  public:
    /// `host` and `nodes` must outlive it.
    MigDevices(const base::Root& host, const NodeReader& nodes, const DriverFiles& driver);

    /// Nothing: it is whole. Those of a split GPU that can't be given are left out, and among problems().
    [[nodiscard]] std::optional<std::vector<MigNodes>> instances(const Gpu& gpu);
    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  private:
    [[nodiscard]] std::optional<MigNodes> find(const Gpu& gpu, const NvmlInstance& instance);

    const NodeReader& nodes_;
    std::set<unsigned> split_; ///< minors of GPUs that have instances
    std::vector<NvmlGpu> told_;
    std::optional<base::Error> untold_; ///< why NVML named none
    MigMinors minors_;
    std::vector<std::string> problems_;
};

} // namespace gpuhost::runtime
