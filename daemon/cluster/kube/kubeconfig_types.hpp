// SPDX-License-Identifier: Apache-2.0
// What the members of a kubeconfig are: client-go's tools/clientcmd/api/v1.
#pragma once

#include "daemon/base/json.hpp"

#include <string_view>

namespace gpuhost::cluster {

/// BadContent names the first member, of any cluster and user in it, that client-go refuses to decode: of another type,
/// no base64, or a name twice in a list. Members that nobody knows are no mistake, nor is null in any place.
[[nodiscard]] base::Result<void> check_kubeconfig_types(const base::Json& document, std::string_view what);

} // namespace gpuhost::cluster
