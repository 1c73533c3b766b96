// SPDX-License-Identifier: Apache-2.0
// Checks the types of a kubeconfig's members against client-go's tools/clientcmd/api/v1.
#pragma once

#include "daemon/base/json.hpp"

#include <string_view>

namespace gpuhost::cluster {

/// Fails with BadContent and names the first member that client-go would refuse to decode, in any cluster or
/// user: a wrong type, invalid base64, or a duplicate name in a list. Unknown members and null values are
/// allowed.
[[nodiscard]] base::Result<void> check_kubeconfig_types(const base::Json& document, std::string_view what);

} // namespace gpuhost::cluster
