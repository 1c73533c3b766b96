// SPDX-License-Identifier: Apache-2.0
// Makes specifications from the facts of a host.
#pragma once

#include "daemon/runtime/cdi/generate.hpp"

#include <optional>
#include <string>

namespace gpuhost::runtime {

struct CdiSources {
    /// Directory below which to find the driver. Default: the userland that gpuhostd has selected, else a
    /// driver below "/".
    std::optional<std::string> driver_root;
    /// Directory whose dev/ has the driver's nodes; "" means "/".
    std::string device_root;
    bool groups = true; ///< same meaning as CdiFacts::groups
};

struct MadeSpec {
    Spec spec;
    std::vector<std::string> problems; ///< sentences about devices of the host that `spec` lacks
};

/// The hook program, which container runtimes start: base::installed_program().
inline constexpr std::string_view hook_program = "gpuhost-cdi-hook";

/// Make the specification of one kind. Fail with NotFound if the driver or a required device node is missing.
/// make_gpu_spec() also fails with NotFound if the host has no GPU. On a host whose GPUs all have MIG
/// enabled, it fails with Unsupported if they have no instance, and with Failed if none can be offered.
[[nodiscard]] base::Result<MadeSpec> make_gpu_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_management_spec(const base::Root& host, const CdiSources& sources);

/// Returns all existing device nodes of the driver and its GPUs. Does not query the driver.
[[nodiscard]] std::vector<SpecNode> driver_nodes(const base::Root& host);

} // namespace gpuhost::runtime
