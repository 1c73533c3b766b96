// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::images {

/// Returns imageGCHighThresholdPercent of a KubeletConfiguration, in YAML or JSON. The kubelet deletes images
/// if at least this percentage of disk space is used. Returns the kubelet's default, 85, if the key is
/// absent.
[[nodiscard]] unsigned image_gc_threshold(std::string_view configuration);

/// Returns image_gc_threshold() of this host's kubelet; nothing if there is no kubelet. Only root may read
/// the kubelet's configuration.
[[nodiscard]] std::optional<unsigned> kubelet_threshold(const base::Root& root);

/// Returns a warning if `bytes` more in the blob store would make the kubelet delete images; else empty. This
/// happens if the store and a runtime's images are on one file system, and its used space reaches `threshold`
/// percent.
[[nodiscard]] std::string image_gc_warning(const base::Root& root, std::uint64_t bytes,
                                           std::optional<unsigned> threshold);

} // namespace gpuhost::images
