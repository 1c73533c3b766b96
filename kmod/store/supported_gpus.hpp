// SPDX-License-Identifier: Apache-2.0
// Parses NVIDIA's supported-gpus.json, which its .run and some packages contain: the GPUs that one driver
// version supports, with their features.
//
//   {"chips": [{"devid": "0x1DB6", "name": …, "features": ["kernelopen", …], "legacybranch": "470.xx"}, …]}
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// The largest file that is accepted, in bytes. NVIDIA's files have about 500 KiB.
inline constexpr std::size_t supported_gpus_limit = std::size_t{8} << 20U;

[[nodiscard]] bool is_supported_gpus(const content::ArchiveEntry& entry);

/// Returns the GPUs that this driver version supports only with its proprietary modules (without feature
/// "kernelopen"): "10de:1db6", sorted. Ignores GPUs with a "legacybranch", which this version does not
/// support at all. `what` names the file in errors; fails with BadContent for an invalid one.
[[nodiscard]] base::Result<std::vector<std::string>> parse_supported_gpus(std::string_view text,
                                                                          std::string_view what);

} // namespace gpuhost::kmod
