// SPDX-License-Identifier: Apache-2.0
// Devices of services beside GPUs. They are optional: few hosts have any.
#pragma once

#include "daemon/runtime/cdi/facts.hpp"

namespace gpuhost::runtime {

/// Fail with NotFound if the host has no such device. The configuration is that of `driver_root`.
[[nodiscard]] base::Result<MadeSpec> make_imex_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_gds_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_gdrcopy_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_mofed_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_nvswitch_spec(const base::Root& host, const CdiSources& sources);

/// Returns all present nodes, except IMEX's channels, which are nodes of the driver.
[[nodiscard]] std::vector<SpecNode> service_nodes(const base::Root& host);
/// Returns the host's files that containers get with them.
[[nodiscard]] std::vector<std::string> service_files(const base::Root& host);

} // namespace gpuhost::runtime
