// SPDX-License-Identifier: Apache-2.0
// Devices of what works beside GPUs: few hosts have any, and one that has none lacks nothing.
#pragma once

#include "daemon/runtime/cdi/facts.hpp"

namespace gpuhost::runtime {

/// NotFound where the host has no such device. `driver_root` is whose configuration counts.
[[nodiscard]] base::Result<MadeSpec> make_imex_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_gds_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_gdrcopy_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_mofed_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_nvswitch_spec(const base::Root& host, const CdiSources& sources);

/// All that there are now, but for IMEX's channels, which are nodes of the driver.
[[nodiscard]] std::vector<SpecNode> service_nodes(const base::Root& host);
/// Files of the host that containers get with them.
[[nodiscard]] std::vector<std::string> service_files(const base::Root& host);

} // namespace gpuhost::runtime
