// SPDX-License-Identifier: Apache-2.0
// Reads a policy from a file of manifests, without an API server, as gpuhost-cluster would read it from one.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>

namespace gpuhost::cluster {

/// Returns the document of `gpuhostctl cluster policy --check=FILE --json`. `text`: YAML or JSON with
/// ConfigMap gpuhost/gpuhost-policy, a ClusterPolicy or both, or the policy itself, as in policy_file. Other
/// objects are skipped. `now`: seconds since 1970, for the maintenance windows. Fails with BadContent if the
/// text is not valid or has no policy; mistakes in the policy are members of the document.
[[nodiscard]] base::Result<base::Json> check_policy(const std::string& text, const std::string& what,
                                                    std::int64_t now);

} // namespace gpuhost::cluster
