// SPDX-License-Identifier: Apache-2.0
// Builds specifications from the facts of a host. Pure. The content equals that of NVIDIA's "nvidia-ctk cdi
// generate", with gpuhost-cdi-hook(8) instead of its hook.
//
// Each kind of device has one function and its facts here.
#pragma once

#include "daemon/runtime/cdi/driver_root.hpp"
#include "daemon/runtime/cdi/spec.hpp"
#include "daemon/runtime/gpu/gpus.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// A MIG instance.
struct MigNodes {
    unsigned index = 0; ///< within its GPU
    std::string uuid;   ///< "MIG-…"
    std::vector<SpecNode> nodes;
    std::vector<DriverLink> links; ///< in /dev/dri/by-path
    friend bool operator==(const MigNodes&, const MigNodes&) = default;
};

/// A GPU with its nodes in /dev.
struct GpuNodes {
    Gpu gpu;
    std::vector<SpecNode> nodes;
    std::vector<DriverLink> links;                  ///< in /dev/dri/by-path
    std::optional<std::vector<MigNodes>> instances; ///< offered instead of the GPU if it is partitioned
};

struct CdiFacts {
    DriverFiles driver;
    std::vector<GpuNodes> gpus;    ///< ordered by index
    std::vector<SpecNode> control; ///< nvidiactl, nvidia-uvm, …, which all GPUs share
    std::vector<SpecNode> all;     ///< all nodes of the driver, for programs that manage GPUs
    std::string hook;              ///< path of the hook program
    /// Whether other users than root in a container get access to nodes through groups, from CDI 0.7.0 on.
    bool groups = true;
};

/// Returns kind nvidia.com/gpu: each GPU by index and by UUID, and "all". MIG instances ("0:1", "MIG-…")
/// replace their GPU.
[[nodiscard]] Spec gpu_spec(const CdiFacts& facts);

/// Returns kind management.nvidia.com/gpu: "all", for programs that manage GPUs and do not compute on them.
[[nodiscard]] Spec management_spec(const CdiFacts& facts);

/// Returns kind nvidia.com/NAME: "all", for devices beside GPUs that need no library of the driver.
[[nodiscard]] Spec service_spec(const std::string& name, const std::vector<SpecNode>& nodes,
                                const std::vector<DriverFile>& files, bool groups);

/// Returns kind nvidia.com/imex-channel: each channel by number, and "all".
[[nodiscard]] Spec imex_spec(const std::map<unsigned, SpecNode>& channels);

} // namespace gpuhost::runtime
