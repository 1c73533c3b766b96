// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// Returns the version of NVIDIA's container toolkit from a tag of its image: 1.17.8 for
/// "v1.17.8-ubuntu20.04", 1.19.0~rc.1 for "v1.19.0-rc.1". Empty: the tag contains none.
[[nodiscard]] std::string toolkit_version_of(std::string_view tag);

} // namespace gpuhost::cluster
