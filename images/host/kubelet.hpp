// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::images {

/// imageGCHighThresholdPercent of a KubeletConfiguration, in YAML or JSON; the kubelet's default, 85, where it says none.
[[nodiscard]] unsigned image_gc_threshold(std::string_view configuration);

/// The threshold of this host's kubelet; nothing where there is none. For root alone: nobody else may read its directory.
[[nodiscard]] std::optional<unsigned> kubelet_threshold(const base::Root& root);

/// A sentence when `bytes` more in the store make the kubelet delete images, because they are on one file system and that
/// will be fuller than the kubelet's threshold. Empty otherwise.
[[nodiscard]] std::string image_gc_warning(const base::Root& root, std::uint64_t bytes,
                                           std::optional<unsigned> threshold);

} // namespace gpuhost::images
