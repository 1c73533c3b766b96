// SPDX-License-Identifier: Apache-2.0
// Reads the facts for specifications from a host.
#pragma once

#include "daemon/runtime/cdi/generate.hpp"

#include <optional>
#include <string>

namespace gpuhost::runtime {

struct CdiSources {
    /// Root of the driver. Default: the one that gpuhostd has selected, else a driver below "/".
    std::optional<std::string> driver_root;
    /// Root whose /dev has the driver's nodes; "" means "/".
    std::string device_root;
    bool groups = true; ///< as in CdiFacts
};

struct MadeSpec {
    Spec spec;
    std::vector<std::string> problems; ///< sentences about parts of the host that it lacks
};

/// The hook program, which container runtimes start: base::installed_program().
inline constexpr std::string_view hook_program = "gpuhost-cdi-hook";

/// Fail with NotFound without a driver, or without a device node that containers need.
[[nodiscard]] base::Result<MadeSpec> make_gpu_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_management_spec(const base::Root& host, const CdiSources& sources);

/// Returns all present nodes of the driver and its GPUs. Does not query the driver.
[[nodiscard]] std::vector<SpecNode> driver_nodes(const base::Root& host);

} // namespace gpuhost::runtime
