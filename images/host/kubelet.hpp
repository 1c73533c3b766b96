// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::images {

/// Returns imageGCHighThresholdPercent of a KubeletConfiguration, in YAML or JSON; the kubelet's default, 85,
/// if absent.
[[nodiscard]] unsigned image_gc_threshold(std::string_view configuration);

/// Returns the threshold of this host's kubelet; nothing if there is no kubelet. Requires root, because only
/// root may read the kubelet's directory.
[[nodiscard]] std::optional<unsigned> kubelet_threshold(const base::Root& root);

/// Returns a warning if `bytes` more in the store would make the kubelet delete images. This happens if both
/// are on one file system that would exceed the kubelet's threshold. Empty otherwise.
[[nodiscard]] std::string image_gc_warning(const base::Root& root, std::uint64_t bytes,
                                           std::optional<unsigned> threshold);

} // namespace gpuhost::images
