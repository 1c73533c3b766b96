// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/runtime/cdi/generate.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Names in a directory of /dev that match a shell pattern.
struct NodePattern {
    const char* directory;
    const char* name;
};

/// Reads device nodes below one root, and returns them in the form of a CDI specification.
class NodeReader {
  public:
    /// `host` must outlive the object. `device_root` is the directory whose dev/ has the nodes; "" means "/".
    NodeReader(const base::Root& host, std::string device_root);

    /// Returns nullopt if the path is not a character device.
    [[nodiscard]] std::optional<SpecNode> find(const std::string& path) const;
    [[nodiscard]] std::vector<SpecNode> find_all(const NodePattern& pattern) const;

    /// Returns the nodes that all GPUs share: nvidiactl, nvidia-uvm, … Fails with NotFound if a required one
    /// is missing.
    [[nodiscard]] base::Result<std::vector<SpecNode>> find_control() const;
    /// Returns all nodes of the driver, except nvidia-fs, NVSwitch and NVLink: a specification of GPUs must
    /// not expose these.
    [[nodiscard]] std::vector<SpecNode> find_driver() const;
    /// Returns the nodes in /dev/dri with these names (Gpu::drm).
    [[nodiscard]] std::vector<SpecNode> find_graphics(const std::vector<std::string>& names) const;

    /// Returns the nodes and links of a GPU. Fails with NotFound if /dev/nvidiaN is missing.
    [[nodiscard]] base::Result<GpuNodes> find(Gpu gpu) const;
    /// Returns the links in /dev/dri/by-path of the GPU with this PCI address. Omits links to nodes that are
    /// not in `nodes`.
    [[nodiscard]] std::vector<DriverLink> find_links(const std::string& address,
                                                     const std::vector<SpecNode>& nodes) const;

    [[nodiscard]] std::string on_host(const std::string& path) const { return prefix_ + path; }

  private:
    const base::Root& host_;
    std::string prefix_;
};

inline constexpr const char* nodes_hint = "Load the driver: 'gpuhostctl status' shows what prevents it, and "
                                          "'gpuhostctl apply' creates missing device nodes.";

} // namespace gpuhost::runtime
