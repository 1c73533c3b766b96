// SPDX-License-Identifier: Apache-2.0
// What specifications are made of.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

namespace gpuhost::runtime {

/// {"driver": version, "gpuhost": version, "userland": directory, "libraries": the loader's cache where somebody else installed them, "gpus":
/// [addresses], "instances": [of MIG], "nodes": {path: numbers and rights}, "sockets": [paths], "files": [paths of what GPUDirect
/// Storage is configured by]} of the driver that is loaded. Never waits for a GPU.
[[nodiscard]] base::Json cdi_inputs(const base::Root& host);

} // namespace gpuhost::runtime
