// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/inputs.hpp"

#include "config.h"
#include "daemon/runtime/cdi/driver_root.hpp"
#include "daemon/runtime/cdi/services.hpp"
#include "daemon/runtime/inspect/cdi_record.hpp"

namespace gpuhost::runtime {

using base::Json;
using base::Root;

namespace {

std::string describe(const SpecNode& node) {
    return std::to_string(node.major) + ":" + std::to_string(node.minor) + " " +
           std::to_string(node.file_mode.value_or(0)) + " " + std::to_string(node.gid.value_or(0));
}

} // namespace

Json cdi_inputs(const Root& host) {
    const std::string version = host.read_line("/sys/module/nvidia/version").value_or(std::string());
    if (version.empty())
        return {{"driver", ""}};
    Json nodes = Json::object();
    for (const SpecNode& node : driver_nodes(host))
        nodes[node.path] = describe(node);
    for (const SpecNode& node : service_nodes(host))
        nodes[node.path] = describe(node);
    Json sockets = Json::array();
    for (const std::string& path : driver_sockets(host))
        sockets.push_back(path);
    const auto userland = selected_userland(host);
    const bool selected = userland && *userland;
    return {{"driver", version},
            {"gpuhost", PACKAGE_VERSION},
            {"userland", selected ? **userland : ""},
            {"libraries", selected ? "" : identify(host, "/etc/ld.so.cache")},
            {"gpus", gpu_addresses(host)},
            {"instances", mig_instances(host)},
            {"nodes", std::move(nodes)},
            {"sockets", std::move(sockets)},
            {"files", service_files(host)}};
}

} // namespace gpuhost::runtime
