// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"

namespace gpuhost::ctl {

/// Adds to each GPU and MIG instance of devices::list_gpus() the member "pods": [{"namespace", "pod",
/// "container"}], as the kubelet reports them; null if the user may not ask the kubelet, or it does not
/// answer within two seconds.
void add_pods(base::Json& list, const base::Root& root);

} // namespace gpuhost::ctl
