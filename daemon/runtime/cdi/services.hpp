// SPDX-License-Identifier: Apache-2.0
// Specifications of devices other than GPUs: IMEX channels, GPUDirect Storage, GDRCopy, InfiniBand and
// NVSwitch. Few hosts have any.
#pragma once

#include "daemon/runtime/cdi/facts.hpp"

namespace gpuhost::runtime {

/// Make the specification of one service. Fail with NotFound if the host has no such device. Use the
/// configuration files below sources.driver_root.
[[nodiscard]] base::Result<MadeSpec> make_imex_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_gds_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_gdrcopy_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_mofed_spec(const base::Root& host, const CdiSources& sources);
[[nodiscard]] base::Result<MadeSpec> make_nvswitch_spec(const base::Root& host, const CdiSources& sources);

/// Returns the existing nodes of these services. driver_nodes() returns those of IMEX channels.
[[nodiscard]] std::vector<SpecNode> service_nodes(const base::Root& host);
/// Returns the files of the host that containers get in addition to the nodes from service_nodes().
[[nodiscard]] std::vector<std::string> service_files(const base::Root& host);

} // namespace gpuhost::runtime
