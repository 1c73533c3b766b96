// SPDX-License-Identifier: Apache-2.0
// NVIDIA's supported-gpus.json, which its .run and some packages have: the GPUs of one driver version, with
// their features.
//
//   {"chips": [{"devid": "0x1DB6", "name": …, "features": ["kernelopen", …], "legacybranch": "470.xx"}, …]}
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// real ones have about 500 KiB
inline constexpr std::size_t supported_gpus_limit = std::size_t{8} << 20U;

[[nodiscard]] bool is_supported_gpus(const content::ArchiveEntry& entry);

/// Returns the GPUs that this version drives, but not with its open modules (no feature "kernelopen"), as
/// "10de:1db6", in order. Ignores GPUs with a "legacybranch": this version does not drive them at all.
[[nodiscard]] base::Result<std::vector<std::string>> parse_supported_gpus(std::string_view text,
                                                                          std::string_view what);

} // namespace gpuhost::kmod
