// SPDX-License-Identifier: Apache-2.0
// The inputs of specifications: facts of the host from which they are made. If an input changes, the
// specifications must be written again.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"

namespace gpuhost::runtime {

/// Returns the inputs for the loaded driver; {"driver": ""} if none is loaded. Never waits for a GPU.
///
///   {"driver": version, "gpuhost": version, "userland": directory; "" if gpuhostd has selected none,
///    "libraries": identify() of /etc/ld.so.cache if gpuhostd has selected no userland, else "",
///    "gpus": [PCI addresses], "instances": [MIG instances], "nodes": {path: numbers, mode and group},
///    "sockets": [paths], "files": [configuration files of GPUDirect Storage]}
[[nodiscard]] base::Json cdi_inputs(const base::Root& host);

} // namespace gpuhost::runtime
