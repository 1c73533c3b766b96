// SPDX-License-Identifier: Apache-2.0
// What a host has → the specification by which its containers get it. Pure. The content is that of NVIDIA's
// "nvidia-ctk cdi generate", with gpuhost-cdi-hook(8) in the place of its hook.
//
// Each kind of device is one function here and the facts that it needs.
#pragma once

#include "daemon/runtime/cdi/driver_root.hpp"
#include "daemon/runtime/cdi/spec.hpp"
#include "daemon/runtime/gpu/gpus.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// An instance of MIG.
struct MigNodes {
    unsigned index = 0; ///< among its GPU's
    std::string uuid;   ///< "MIG-…"
    std::vector<SpecNode> nodes;
    std::vector<DriverLink> links; ///< in /dev/dri/by-path
    friend bool operator==(const MigNodes&, const MigNodes&) = default;
};

/// A GPU with what is there of it in /dev.
struct GpuNodes {
    Gpu gpu;
    std::vector<SpecNode> nodes;
    std::vector<DriverLink> links;                  ///< in /dev/dri/by-path
    std::optional<std::vector<MigNodes>> instances; ///< what is offered in its place, if it is split
};

struct CdiFacts {
    DriverFiles driver;
    std::vector<GpuNodes> gpus;    ///< by index
    std::vector<SpecNode> control; ///< nvidiactl, nvidia-uvm, …, which all GPUs share
    std::vector<SpecNode> all;     ///< every node of the driver, for who manages GPUs
    std::string hook;              ///< the program
    bool groups =
        true; ///< who is not root in a container gets at nodes through their groups, from CDI 0.7.0 on
};

/// Kind nvidia.com/gpu: each GPU by index and by UUID, instances of MIG ("0:1", "MIG-…") in the place of theirs, and "all".
[[nodiscard]] Spec gpu_spec(const CdiFacts& facts);

/// Kind management.nvidia.com/gpu: "all", for what looks after GPUs and computes nothing on them.
[[nodiscard]] Spec management_spec(const CdiFacts& facts);

/// Kind nvidia.com/NAME: "all", for what works beside GPUs and needs no library of the driver.
[[nodiscard]] Spec service_spec(const std::string& name, const std::vector<SpecNode>& nodes,
                                const std::vector<DriverFile>& files, bool groups);

/// Kind nvidia.com/imex-channel: each by its number, and "all".
[[nodiscard]] Spec imex_spec(const std::map<unsigned, SpecNode>& channels);

} // namespace gpuhost::runtime
