// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/generate.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <tuple>

namespace gpuhost::runtime {
namespace {

const std::vector<std::string> file_options{"ro", "nosuid", "nodev", "rbind", "rprivate"};
/// Disables NVIDIA's own container runtime, because the specification already adds the whole driver.
constexpr const char* nothing_for_nvidias_runtime = "NVIDIA_VISIBLE_DEVICES=void";
const std::vector<std::string> socket_options{"nosuid", "nodev", "rbind", "rprivate", "noexec"};

void add_mounts(SpecEdits& edits, const std::vector<DriverFile>& files,
                const std::vector<std::string>& options) {
    for (const DriverFile& file : files)
        edits.mounts.push_back({file.host, file.container, options, ""});
}

void add_hook(SpecEdits& edits, const std::string& program, std::vector<std::string> words) {
    words.insert(words.begin(), program.substr(program.rfind('/') + 1));
    edits.hooks.push_back({"createContainer", program, std::move(words), {}, std::nullopt});
}

void add_link_hook(SpecEdits& edits, const std::string& program, const std::vector<DriverLink>& links) {
    if (links.empty())
        return;
    std::vector<std::string> words{"create-symlinks"};
    for (const DriverLink& link : links)
        words.insert(words.end(), {"--link", link.target + "::" + link.path});
    add_hook(edits, program, std::move(words));
}

/// Adds the hook that makes the container's loader search the directories of `libraries`.
void add_linker_hook(SpecEdits& edits, const std::string& program, const std::vector<DriverFile>& libraries) {
    std::vector<std::string> words{"update-ldcache"};
    for (const DriverFile& library : libraries) {
        std::string directory = library.container.substr(0, library.container.rfind('/'));
        if (std::find(words.begin(), words.end(), directory) == words.end())
            words.insert(words.end(), {"--folder", std::move(directory)});
    }
    if (words.size() > 1)
        add_hook(edits, program, std::move(words));
}

/// Adds nodes. If the mode of a node excludes other users, adds its group to the container: users other than
/// root then have access.
void add_nodes(SpecEdits& edits, const std::vector<SpecNode>& nodes) {
    constexpr std::uint32_t everybody = 06;
    for (const SpecNode& node : nodes) {
        edits.nodes.push_back(node);
        if (node.gid && *node.gid != 0 && node.file_mode && (*node.file_mode & everybody) != everybody)
            edits.additional_gids.push_back(*node.gid);
    }
}

void append(SpecEdits& edits, const SpecEdits& more) {
    edits.nodes.insert(edits.nodes.end(), more.nodes.begin(), more.nodes.end());
    edits.hooks.insert(edits.hooks.end(), more.hooks.begin(), more.hooks.end());
    edits.additional_gids.insert(edits.additional_gids.end(), more.additional_gids.begin(),
                                 more.additional_gids.end());
}

/// Adds the parts of the driver that every container with a GPU gets.
void add_driver(SpecEdits& edits, const CdiFacts& facts) {
    const DriverFiles& driver = facts.driver;
    add_mounts(edits, driver.libraries, file_options);
    add_mounts(edits, driver.sockets, socket_options);
    add_mounts(edits, driver.firmware, file_options);
    add_mounts(edits, driver.programs, file_options);
    add_link_hook(edits, facts.hook, driver.links);
    add_hook(edits, facts.hook, {"enable-cuda-compat", "--host-driver-version=" + driver.version});
    add_linker_hook(edits, facts.hook, driver.libraries);
    edits.env.push_back("NVIDIA_CTK_LIBCUDA_DIR=" + base::join(driver.library_directories, ":"));
    edits.env.emplace_back(nothing_for_nvidias_runtime);
}

template <class T>
void drop_repeated(std::vector<T>& values) {
    std::vector<T> once;
    for (T& value : values)
        if (std::find(once.begin(), once.end(), value) == once.end())
            once.push_back(std::move(value));
    values = std::move(once);
}

/// Returns a key that sorts paths by depth, then by name, so that a directory precedes its contents.
auto depth_and(const std::string& path) {
    return std::tuple(std::count(path.begin(), path.end(), '/'), std::string_view(path));
}

void tidy(SpecEdits& edits) {
    drop_repeated(edits.nodes);
    drop_repeated(edits.hooks);
    drop_repeated(edits.mounts);
    std::sort(edits.additional_gids.begin(), edits.additional_gids.end());
    drop_repeated(edits.additional_gids);
    std::stable_sort(edits.nodes.begin(), edits.nodes.end(),
                     [](const auto& a, const auto& b) { return depth_and(a.path) < depth_and(b.path); });
    std::stable_sort(edits.mounts.begin(), edits.mounts.end(), [](const auto& a, const auto& b) {
        return depth_and(a.container_path) < depth_and(b.container_path);
    });
}

void finish(SpecEdits& edits, bool groups) {
    if (!groups)
        edits.additional_gids.clear();
    tidy(edits);
}

Spec finished(Spec spec, bool groups) {
    finish(spec.edits, groups);
    for (SpecDevice& device : spec.devices)
        finish(device.edits, groups);
    std::sort(spec.devices.begin(), spec.devices.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    spec.version = minimum_version(spec);
    return spec;
}

} // namespace

Spec gpu_spec(const CdiFacts& facts) {
    Spec spec;
    spec.kind = "nvidia.com/gpu";
    SpecDevice all{"all", {}, {}};
    const auto add = [&](const std::string& index, const std::string& uuid,
                         const std::vector<SpecNode>& nodes, const std::vector<DriverLink>& links) {
        SpecEdits edits;
        add_nodes(edits, nodes);
        add_link_hook(edits, facts.hook, links);
        append(all.edits, edits);
        if (!uuid.empty())
            spec.devices.push_back({uuid, {}, edits});
        spec.devices.push_back({index, {}, std::move(edits)});
    };
    for (std::size_t index = 0; index < facts.gpus.size(); ++index) {
        const GpuNodes& gpu = facts.gpus[index];
        const std::string name = std::to_string(index);
        if (!gpu.instances)
            add(name, gpu.gpu.uuid, gpu.nodes, gpu.links);
        else
            for (const MigNodes& one : *gpu.instances)
                add(name + ":" + std::to_string(one.index), one.uuid, one.nodes, one.links);
    }
    spec.devices.push_back(std::move(all));
    add_nodes(spec.edits, facts.control);
    add_mounts(spec.edits, facts.driver.graphics, file_options);
    add_link_hook(spec.edits, facts.hook, facts.driver.graphics_links);
    add_driver(spec.edits, facts);
    add_hook(spec.edits, facts.hook, {"disable-device-node-modification"});
    return finished(std::move(spec), facts.groups);
}

Spec management_spec(const CdiFacts& facts) {
    Spec spec;
    spec.kind = "management.nvidia.com/gpu";
    SpecDevice all{"all", {}, {}};
    add_nodes(all.edits, facts.all);
    spec.devices.push_back(std::move(all));
    add_driver(spec.edits, facts);
    return finished(std::move(spec), facts.groups);
}

Spec service_spec(const std::string& name, const std::vector<SpecNode>& nodes,
                  const std::vector<DriverFile>& files, bool groups) {
    Spec spec;
    spec.kind = "nvidia.com/" + name;
    SpecDevice all{"all", {}, {}};
    add_nodes(all.edits, nodes);
    add_mounts(all.edits, files, file_options);
    spec.devices.push_back(std::move(all));
    spec.edits.env.emplace_back(nothing_for_nvidias_runtime);
    return finished(std::move(spec), groups);
}

Spec imex_spec(const std::map<unsigned, SpecNode>& channels) {
    Spec spec;
    spec.kind = "nvidia.com/imex-channel";
    SpecDevice all{"all", {}, {}};
    for (const auto& [number, node] : channels) {
        all.edits.nodes.push_back(node);
        spec.devices.push_back({std::to_string(number), {}, {}});
        spec.devices.back().edits.nodes.push_back(node);
    }
    spec.devices.push_back(std::move(all));
    spec.edits.env.emplace_back(nothing_for_nvidias_runtime);
    return finished(std::move(spec), true);
}

} // namespace gpuhost::runtime
