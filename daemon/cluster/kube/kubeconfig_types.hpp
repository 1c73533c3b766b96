// SPDX-License-Identifier: Apache-2.0
// Checks the types of a kubeconfig's members against client-go's tools/clientcmd/api/v1.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <string_view>

namespace gpuhost::cluster {

/// Fails with BadContent and names the first member that client-go refuses to decode. All clusters and users
/// are checked for wrong types, invalid base64, and duplicate names in a list. Unknown members and null
/// values are allowed.
[[nodiscard]] base::Result<void> check_kubeconfig_types(const base::Json& document, std::string_view what);

} // namespace gpuhost::cluster
