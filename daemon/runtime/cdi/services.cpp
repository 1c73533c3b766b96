// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/services.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/cdi/nodes.hpp"

#include <array>
#include <span>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using base::Root;

namespace {

constexpr std::array gds_nodes{NodePattern{"/dev", "nvidia-fs*"}};
constexpr std::array gdrcopy_nodes{NodePattern{"/dev", "gdrdrv"}};
constexpr std::array mofed_nodes{NodePattern{"/dev/infiniband", "uverbs*"},
                                 NodePattern{"/dev/infiniband", "rdma_cm"}};
constexpr std::array nvswitch_nodes{NodePattern{"/dev", "nvidia-nvswitch*"}}; // includes nvswitchctl
constexpr NodePattern imex_nodes{"/dev/nvidia-caps-imex-channels", "channel*"};
constexpr std::uint64_t last_imex_channel = (1U << 20U) - 1; ///< channels are minors of one major number

constexpr const char* udev_directory = "/run/udev"; ///< cuFile reads the list of disks from it
constexpr const char* cufile_config = "/etc/cufile.json";

std::vector<SpecNode> find_nodes(const NodeReader& reader, std::span<const NodePattern> patterns) {
    std::vector<SpecNode> nodes;
    for (const NodePattern& pattern : patterns)
        for (SpecNode& node : reader.find_all(pattern))
            nodes.push_back(std::move(node));
    return nodes;
}

std::vector<DriverFile> find_files(const Root& host, const std::string& prefix) {
    std::vector<DriverFile> files;
    if (const auto st = host.stat(prefix + udev_directory); st && S_ISDIR(st->st_mode))
        files.push_back({prefix + udev_directory, udev_directory});
    if (const auto st = host.stat(prefix + cufile_config); st && !S_ISDIR(st->st_mode))
        files.push_back({prefix + cufile_config, cufile_config});
    return files;
}

tl::unexpected<base::Error> none_of(const std::string& name) {
    return base::fail(
        Errc::NotFound, "no device node found for " + name,
        "Load its driver, which creates the device node. Containers need none without that driver.");
}

Result<MadeSpec> make_service_spec(const Root& host, const CdiSources& sources, const std::string& name,
                                   std::span<const NodePattern> patterns,
                                   const std::vector<DriverFile>& files = {}) {
    const auto nodes = find_nodes(NodeReader(host, sources.device_root), patterns);
    if (nodes.empty())
        return none_of(name);
    return MadeSpec{service_spec(name, nodes, files, sources.groups), {}};
}

} // namespace

Result<MadeSpec> make_gds_spec(const Root& host, const CdiSources& sources) {
    const std::string root = sources.driver_root.value_or("");
    return make_service_spec(host, sources, "gds", gds_nodes, find_files(host, root == "/" ? "" : root));
}

Result<MadeSpec> make_gdrcopy_spec(const Root& host, const CdiSources& sources) {
    return make_service_spec(host, sources, "gdrcopy", gdrcopy_nodes);
}

Result<MadeSpec> make_mofed_spec(const Root& host, const CdiSources& sources) {
    return make_service_spec(host, sources, "mofed", mofed_nodes);
}

Result<MadeSpec> make_nvswitch_spec(const Root& host, const CdiSources& sources) {
    return make_service_spec(host, sources, "nvswitch", nvswitch_nodes);
}

/// Omits the device numbers of channels, because channels are created anew while containers start and stop.
/// The runtime then reads the numbers at each start of a container.
Result<MadeSpec> make_imex_spec(const Root& host, const CdiSources& sources) {
    const NodeReader reader(host, sources.device_root);
    std::map<unsigned, SpecNode> channels;
    for (const SpecNode& found : reader.find_all(imex_nodes)) {
        const auto number = base::parse_uint(found.path.substr(found.path.rfind("channel") + 7));
        if (!number || *number > last_imex_channel)
            continue;
        SpecNode& channel = channels[static_cast<unsigned>(*number)];
        channel.path = found.path;
        channel.host_path = reader.on_host(found.path);
    }
    if (channels.empty())
        return none_of("imex");
    return MadeSpec{imex_spec(channels), {}};
}

std::vector<SpecNode> service_nodes(const Root& host) {
    const NodeReader reader(host, "");
    std::vector<SpecNode> nodes;
    for (const std::span<const NodePattern> patterns :
         {std::span<const NodePattern>(gds_nodes), std::span<const NodePattern>(gdrcopy_nodes),
          std::span<const NodePattern>(mofed_nodes), std::span<const NodePattern>(nvswitch_nodes)})
        for (SpecNode& node : find_nodes(reader, patterns))
            nodes.push_back(std::move(node));
    return nodes;
}

std::vector<std::string> service_files(const Root& host) {
    std::vector<std::string> paths;
    if (!find_nodes(NodeReader(host, ""), gds_nodes).empty())
        for (const DriverFile& file : find_files(host, ""))
            paths.push_back(file.host);
    return paths;
}

} // namespace gpuhost::runtime
