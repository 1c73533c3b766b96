// SPDX-License-Identifier: Apache-2.0
// The inputs of specifications.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

namespace gpuhost::runtime {

/// Returns the inputs for the loaded driver. Never waits for a GPU.
///
///   {"driver": version, "gpuhost": version, "userland": directory,
///    "libraries": the loader's cache if another program installed them,
///    "gpus": [addresses], "instances": [MIG instances], "nodes": {path: numbers and mode},
///    "sockets": [paths], "files": [configuration files of GPUDirect Storage]}
[[nodiscard]] base::Json cdi_inputs(const base::Root& host);

} // namespace gpuhost::runtime
