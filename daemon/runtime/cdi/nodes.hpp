// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/runtime/cdi/generate.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Names in a directory of /dev that fit a shell's pattern.
struct NodePattern {
    const char* directory;
    const char* name;
};

/// Device nodes below one root, as a container gets them.
class NodeReader {
  public:
    /// `host` must outlive it. `device_root` is whose /dev has them; "" is "/".
    NodeReader(const base::Root& host, std::string device_root);

    /// Nothing if it is no character device.
    [[nodiscard]] std::optional<SpecNode> find(const std::string& path) const;
    [[nodiscard]] std::vector<SpecNode> find_all(const NodePattern& pattern) const;

    /// nvidiactl, nvidia-uvm, …: NotFound without those that nothing computes without.
    [[nodiscard]] base::Result<std::vector<SpecNode>> find_control() const;
    /// Every one of the driver, without those of services that a container must not get at through the GPUs' kind.
    [[nodiscard]] std::vector<SpecNode> find_driver() const;
    /// Those that the kernel's graphics have of a GPU, by their names.
    [[nodiscard]] std::vector<SpecNode> find_graphics(const std::vector<std::string>& names) const;

    /// NotFound where the GPU's own is not there.
    [[nodiscard]] base::Result<GpuNodes> find(Gpu gpu) const;
    /// In /dev/dri/by-path, to nodes among `nodes`.
    [[nodiscard]] std::vector<DriverLink> find_links(const std::string& address,
                                                     const std::vector<SpecNode>& nodes) const;

    [[nodiscard]] std::string on_host(const std::string& path) const { return prefix_ + path; }

  private:
    const base::Root& host_;
    std::string prefix_;
};

inline constexpr const char* nodes_hint =
    "Load the driver: 'gpuhostctl status' says what is in its way, and 'gpuhostctl apply' "
    "makes nodes that are missing.";

} // namespace gpuhost::runtime
