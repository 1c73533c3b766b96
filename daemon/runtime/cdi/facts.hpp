// SPDX-License-Identifier: Apache-2.0
// Reads from a host what its specifications are made of.
#pragma once

#include "daemon/runtime/cdi/generate.hpp"

#include <optional>
#include <string>

namespace gpuhost::runtime {

struct CdiSources {
    /// Where a driver is searched for. Without it: the one that gpuhostd has selected, else one below "/".
    std::optional<std::string> driver_root;
    /// Whose /dev has the driver's nodes; "" is "/".
    std::string device_root;
    bool groups = true; ///< as in CdiFacts
};

struct MadeSpec {
    Spec spec;
    std::vector<std::string> problems; ///< sentences: what it lacks, though the host has it
};

inline constexpr std::string_view hook_program =
    "gpuhost-cdi-hook"; ///< that containers' runtimes start: base::installed_program()

/// NotFound where there is no driver, or not a node of it that a container needs.
[[nodiscard]] base::Result<MadeSpec> make_gpu_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_management_spec(const base::Root& host, const CdiSources& sources);

/// Every node of the driver and of its GPUs that there is now; asks the driver nothing.
[[nodiscard]] std::vector<SpecNode> driver_nodes(const base::Root& host);

} // namespace gpuhost::runtime
