// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// The version of NVIDIA's container toolkit in a tag of its image: 1.17.8 of "v1.17.8-ubuntu20.04", 1.19.0~rc.1 of
/// "v1.19.0-rc.1"; empty: there is none in it.
[[nodiscard]] std::string toolkit_version_of(std::string_view tag);

} // namespace gpuhost::cluster
