// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi_facts.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/character_device.hpp"

#include <algorithm>
#include <array>

#include <fnmatch.h>
#include <sys/sysmacros.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using base::Root;

namespace {

struct ControlNode {
    const char* path;
    bool needed; ///< without it nothing computes
};
constexpr std::array<ControlNode, 4> control_nodes{
    ControlNode{"/dev/nvidia-modeset", false}, ControlNode{"/dev/nvidia-uvm", true},
    ControlNode{"/dev/nvidia-uvm-tools", false}, ControlNode{"/dev/nvidiactl", true}};
struct NodePattern {
    const char* directory;
    const char* name;
};
constexpr std::array<NodePattern, 3> management_nodes{
    NodePattern{"/dev", "nvidia*"}, NodePattern{"/dev/nvidia-caps", "nvidia-cap*"},
    NodePattern{"/dev/nvidia-caps-imex-channels", "channel*"}};
/// Of services that a container must not get at through the GPUs' kind.
constexpr std::array<std::string_view, 3> foreign_nodes{"nvidia-fs", "nvidia-nvswitch", "nvidia-nvlink"};
constexpr const char* nodes_hint =
    "Load the driver: 'gpuhostctl status' says what is in its way, and 'gpuhostctl apply' "
    "makes nodes that are missing.";

/// Nodes below one root, as a container gets them.
class Nodes {
  public:
    Nodes(const Root& host, std::string device_root) : host_(host), prefix_(std::move(device_root)) {}

    /// Nothing if it is no character device.
    [[nodiscard]] std::optional<SpecNode> find(const std::string& path) const {
        const auto st = stat_character_device(host_, prefix_ + path);
        if (!st)
            return std::nullopt;
        SpecNode node;
        node.path = path;
        node.host_path = prefix_.empty() ? "" : prefix_ + path;
        node.major = gnu_dev_major(st->st_rdev);
        node.minor = gnu_dev_minor(st->st_rdev);
        if (const mode_t mode = st->st_mode & ~static_cast<mode_t>(S_IFMT); mode != 0)
            node.file_mode = mode;
        node.permissions = "rwm";
        if (st->st_gid != 0)
            node.gid = st->st_gid;
        return node;
    }

    [[nodiscard]] Result<std::vector<SpecNode>> find_control() const {
        std::vector<SpecNode> nodes;
        for (const auto& [path, needed] : control_nodes) {
            auto node = find(path);
            if (!node && needed)
                return base::fail(Errc::NotFound, prefix_ + path + " is not there", nodes_hint);
            if (node)
                nodes.push_back(std::move(*node));
        }
        return nodes;
    }

    [[nodiscard]] std::vector<SpecNode> find_all() const {
        std::vector<SpecNode> nodes;
        for (const auto& [directory, pattern] : management_nodes)
            for (const std::string& name :
                 host_.list(prefix_ + directory).value_or(std::vector<std::string>()))
                if (::fnmatch(pattern, name.c_str(), 0) == 0 && !is_foreign(name))
                    add(nodes, directory + ("/" + name));
        return nodes;
    }

    /// Those that the kernel's graphics have of a GPU.
    void add_graphics(std::vector<SpecNode>& nodes, const std::vector<std::string>& names) const {
        for (const std::string& name : names)
            add(nodes, "/dev/dri/" + name);
    }

    [[nodiscard]] Result<GpuNodes> find(Gpu gpu) const {
        const std::string path = "/dev/nvidia" + std::to_string(gpu.minor);
        const auto node = find(path);
        if (!node)
            return base::fail(Errc::NotFound, prefix_ + path + " of GPU " + gpu.address + " is not there",
                              nodes_hint);
        GpuNodes found{std::move(gpu), {*node}, {}};
        add_graphics(found.nodes, found.gpu.drm);
        for (const char* what : {"card", "render"})
            add_link(found, "/dev/dri/by-path/pci-" + found.gpu.address + "-" + what);
        return found;
    }

  private:
    static bool is_foreign(const std::string& name) {
        return std::any_of(foreign_nodes.begin(), foreign_nodes.end(),
                           [&](std::string_view prefix) { return base::starts_with(name, prefix); });
    }

    void add(std::vector<SpecNode>& nodes, const std::string& path) const {
        if (auto node = find(path))
            nodes.push_back(std::move(*node));
    }

    /// Only to a node that the container has.
    void add_link(GpuNodes& found, const std::string& path) const {
        const std::string target = host_.read_link(prefix_ + path).value_or(std::string());
        const std::string node = "/dev/dri/" + target.substr(target.rfind('/') + 1);
        if (std::any_of(found.nodes.begin(), found.nodes.end(),
                        [&](const auto& one) { return one.path == node; }))
            found.links.push_back({target, path});
    }

    const Root& host_;
    std::string prefix_;
};

Result<DriverFiles> read_driver(const Root& host, const CdiSources& sources) {
    if (sources.driver_root)
        return find_driver(host, *sources.driver_root);
    GPUHOST_TRY(userland, selected_userland(host));
    if (userland)
        return read_userland(host, *userland);
    return find_driver(host, "/");
}

/// "/" and what ends in one, as prefixes of absolute paths.
std::string as_prefix(std::string path) {
    while (!path.empty() && path.back() == '/')
        path.pop_back();
    return path;
}

} // namespace

std::vector<SpecNode> driver_nodes(const Root& host) {
    const Nodes nodes(host, "");
    auto found = nodes.find_all();
    for (const std::string& address : gpu_addresses(host))
        nodes.add_graphics(found, drm_names(host, address));
    return found;
}

Result<Spec> make_gpu_spec(const Root& host, const CdiSources& sources) {
    CdiFacts facts;
    GPUHOST_TRY(driver, read_driver(host, sources));
    facts.driver = std::move(driver);
    // Instances are devices of their own, with names that the driver tells nobody but NVML.
    if (const auto instances = mig_instances(host); !instances.empty())
        return base::fail(
            Errc::Unsupported, "a GPU is split into instances of MIG (" + instances.front() + ")",
            "gpuhostd does not describe them yet; 'nvidia-ctk cdi generate' does. Set Enable=no in "
            "section [CDI] of gpuhostd.conf(5) where that writes /run/cdi/nvidia.yaml.");
    const Nodes nodes(host, as_prefix(sources.device_root));
    for (Gpu& gpu : read_gpus(host)) {
        GPUHOST_TRY(found, nodes.find(std::move(gpu)));
        facts.gpus.push_back(std::move(found));
    }
    if (facts.gpus.empty())
        return base::fail(Errc::NotFound, "the driver serves no GPU", nodes_hint);
    GPUHOST_TRY(control, nodes.find_control());
    facts.control = std::move(control);
    facts.hook = hook_program;
    facts.groups = sources.groups;
    return gpu_spec(facts);
}

Result<Spec> make_management_spec(const Root& host, const CdiSources& sources) {
    CdiFacts facts;
    GPUHOST_TRY(driver, read_driver(host, sources));
    facts.driver = std::move(driver);
    facts.all = Nodes(host, as_prefix(sources.device_root)).find_all();
    if (facts.all.empty())
        return base::fail(Errc::NotFound, "there is no device node of the driver", nodes_hint);
    facts.hook = hook_program;
    facts.groups = sources.groups;
    return management_spec(facts);
}

} // namespace gpuhost::runtime
