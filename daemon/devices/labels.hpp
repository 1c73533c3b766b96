// SPDX-License-Identifier: Apache-2.0
// Labels of a Node that describe its GPUs, with the names and values of NVIDIA's GPU feature discovery (GFD).
#pragma once

#include "daemon/devices/label_group.hpp"
#include "daemon/devices/offer.hpp"

#include <optional>
#include <string>

namespace gpuhost::devices {

/// Returns the labels for an offer; none if it has no GPU with a known model. Differs from GFD:
///
/// - If the host has several models, the labels nvidia.com/gpu.* are of the model with the most GPUs, and of
///   the first such model if there are several. GFD takes any.
/// - A fact that is unknown has no label. GFD writes no label at all then.
/// - A value is cut to the 63 characters that Kubernetes accepts.
/// - nvidia.com/gfd.timestamp and nvidia.com/vgpu.host-driver-* do not exist.
[[nodiscard]] Labels labels_of(const Offer& offer);

/// Returns the labels that `writer` publishes for an offer: none if Labels= names another writer. Returns
/// nullopt if the published labels stay: while GPUs are withdrawn or unknown, their facts are incomplete.
[[nodiscard]] std::optional<Labels> published_labels(const Offer& offer, LabelMode writer);

/// Returns the labels as lines "name=value", as a local source of Node Feature Discovery has them.
[[nodiscard]] std::string to_lines(const Labels& labels);

} // namespace gpuhost::devices
