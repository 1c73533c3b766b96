// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/nodes.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/gpu/character_device.hpp"

#include <algorithm>
#include <array>

#include <fnmatch.h>
#include <sys/sysmacros.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;

namespace {

struct ControlNode {
    const char* path;
    bool needed; ///< required for any computation
};
constexpr std::array<ControlNode, 4> control_nodes{
    ControlNode{"/dev/nvidia-modeset", false}, ControlNode{"/dev/nvidia-uvm", true},
    ControlNode{"/dev/nvidia-uvm-tools", false}, ControlNode{"/dev/nvidiactl", true}};
constexpr std::array<NodePattern, 3> driver_patterns{
    NodePattern{"/dev", "nvidia*"}, NodePattern{"/dev/nvidia-caps", "nvidia-cap*"},
    NodePattern{"/dev/nvidia-caps-imex-channels", "channel*"}};
constexpr std::array<std::string_view, 3> foreign_nodes{"/dev/nvidia-fs", "/dev/nvidia-nvswitch",
                                                        "/dev/nvidia-nvlink"};

bool is_foreign(const SpecNode& node) {
    return std::any_of(foreign_nodes.begin(), foreign_nodes.end(),
                       [&](std::string_view prefix) { return base::starts_with(node.path, prefix); });
}

/// Returns a directory without trailing slashes, as a prefix of absolute paths; "/" becomes "".
std::string as_prefix(std::string path) {
    while (!path.empty() && path.back() == '/')
        path.pop_back();
    return path;
}

} // namespace

NodeReader::NodeReader(const base::Root& host, std::string device_root)
    : host_(host), prefix_(as_prefix(std::move(device_root))) {}

std::optional<SpecNode> NodeReader::find(const std::string& path) const {
    const auto st = stat_character_device(host_, on_host(path));
    if (!st)
        return std::nullopt;
    SpecNode node;
    node.path = path;
    node.host_path = prefix_.empty() ? "" : on_host(path);
    node.major = gnu_dev_major(st->st_rdev);
    node.minor = gnu_dev_minor(st->st_rdev);
    if (const mode_t mode = st->st_mode & ~static_cast<mode_t>(S_IFMT); mode != 0)
        node.file_mode = mode;
    node.permissions = "rwm";
    if (st->st_gid != 0)
        node.gid = st->st_gid;
    return node;
}

std::vector<SpecNode> NodeReader::find_all(const NodePattern& pattern) const {
    std::vector<SpecNode> nodes;
    const auto names = host_.list(on_host(pattern.directory));
    for (const std::string& name : names.value_or(std::vector<std::string>()))
        if (::fnmatch(pattern.name, name.c_str(), 0) == 0)
            if (auto node = find(pattern.directory + ("/" + name)))
                nodes.push_back(std::move(*node));
    return nodes;
}

Result<std::vector<SpecNode>> NodeReader::find_control() const {
    std::vector<SpecNode> nodes;
    for (const auto& [path, needed] : control_nodes) {
        auto node = find(path);
        if (!node && needed)
            return base::fail(Errc::NotFound, on_host(path) + " is missing", nodes_hint);
        if (node)
            nodes.push_back(std::move(*node));
    }
    return nodes;
}

std::vector<SpecNode> NodeReader::find_driver() const {
    std::vector<SpecNode> nodes;
    for (const NodePattern& pattern : driver_patterns)
        for (SpecNode& node : find_all(pattern))
            if (!is_foreign(node))
                nodes.push_back(std::move(node));
    return nodes;
}

std::vector<SpecNode> NodeReader::find_graphics(const std::vector<std::string>& names) const {
    std::vector<SpecNode> nodes;
    for (const std::string& name : names)
        if (auto node = find("/dev/dri/" + name))
            nodes.push_back(std::move(*node));
    return nodes;
}

Result<GpuNodes> NodeReader::find(Gpu gpu) const {
    const std::string path = "/dev/nvidia" + std::to_string(gpu.minor);
    const auto node = find(path);
    if (!node)
        return base::fail(Errc::NotFound, on_host(path) + " of GPU " + gpu.address + " is missing",
                          nodes_hint);
    GpuNodes found{std::move(gpu), {*node}, {}, {}};
    for (SpecNode& graphics : find_graphics(found.gpu.drm))
        found.nodes.push_back(std::move(graphics));
    found.links = find_links(found.gpu.address, found.nodes);
    return found;
}

std::vector<DriverLink> NodeReader::find_links(const std::string& address,
                                               const std::vector<SpecNode>& nodes) const {
    std::vector<DriverLink> links;
    for (const char* what : {"card", "render"}) {
        const std::string path = "/dev/dri/by-path/pci-" + address + "-" + what;
        const std::string target = host_.read_link(on_host(path)).value_or(std::string());
        const std::string node = "/dev/dri/" + target.substr(target.rfind('/') + 1);
        if (std::any_of(nodes.begin(), nodes.end(), [&](const auto& one) { return one.path == node; }))
            links.push_back({target, path});
    }
    return links;
}

} // namespace gpuhost::runtime
