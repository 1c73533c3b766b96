// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/devices/sharing.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace gpuhost::devices {

using Labels = std::map<std::string, std::string>;

/// The resource in the names of labels, whatever ResourceName= is.
inline constexpr const char* whole_gpus = "nvidia.com/gpu";

/// Converts a text to the characters of labels, as GPU feature discovery does: joins its words by "-".
[[nodiscard]] std::string sanitised(std::string_view text);

/// The labels of one resource: "nvidia.com/gpu.count", "nvidia.com/mig-1g.10gb.count". Values are cut so that
/// Kubernetes accepts them.
class LabelGroup {
  public:
    /// `labels` must outlive the group.
    LabelGroup(Labels& labels, std::string resource) : labels_(labels), resource_(std::move(resource)) {}

    void set(std::string_view name, std::string value);
    void set(std::string_view name, std::uint64_t value) { set(name, std::to_string(value)); }
    /// Sets the number of devices, and of pods that share each; 0 replicas: they can't be shared.
    void set_number(std::size_t count, unsigned replicas, const char* strategy);
    /// Sets the model and the number of devices, as `sharing` shares the kubelet's `resource`.
    void set_devices(std::string product, std::size_t count, const Sharing& sharing,
                     std::string_view resource);

  private:
    Labels& labels_;
    std::string resource_;
};

} // namespace gpuhost::devices
