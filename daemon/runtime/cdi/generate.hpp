// SPDX-License-Identifier: Apache-2.0
// Builds specifications from the facts of a host. Pure. The content equals that of NVIDIA's "nvidia-ctk cdi
// generate", with gpuhost-cdi-hook(8) instead of NVIDIA's hook.
//
// Each function makes the specification of one kind of device.
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
    std::optional<std::vector<MigNodes>> instances; ///< offered instead of the GPU; nullopt: MIG is off
};

struct CdiFacts {
    DriverFiles driver;
    std::vector<GpuNodes> gpus;    ///< ordered by index
    std::vector<SpecNode> control; ///< nodes that all GPUs share: nvidiactl, nvidia-uvm, …
    std::vector<SpecNode> all;     ///< all nodes of the driver, for programs that manage GPUs
    std::string hook;              ///< path of the hook program
    /// True: containers get the groups of device nodes (additionalGids, CDI 0.7.0), so that users other than
    /// root can open the nodes.
    bool groups = true;
};

/// Returns the specification of the kind nvidia.com/gpu. Its devices are each GPU by index and by UUID, and
/// "all". MIG instances ("0:1", "MIG-…") replace their GPU.
[[nodiscard]] Spec gpu_spec(const CdiFacts& facts);

/// Returns the specification of the kind management.nvidia.com/gpu with one device, "all". It is for programs
/// that manage GPUs and do not compute on them.
[[nodiscard]] Spec management_spec(const CdiFacts& facts);

/// Returns the specification of the kind nvidia.com/NAME with one device, "all". It is for devices other than
/// GPUs, if they need no library of the driver.
[[nodiscard]] Spec service_spec(const std::string& name, const std::vector<SpecNode>& nodes,
                                const std::vector<DriverFile>& files, bool groups);

/// Returns the specification of the kind nvidia.com/imex-channel. Its devices are each channel by number, and
/// "all".
[[nodiscard]] Spec imex_spec(const std::map<unsigned, SpecNode>& channels);

} // namespace gpuhost::runtime
