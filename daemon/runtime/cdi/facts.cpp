// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/facts.hpp"

#include "daemon/base/installed.hpp"
#include "daemon/runtime/cdi/mig_devices.hpp"
#include "daemon/runtime/cdi/nodes.hpp"

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using base::Root;

namespace {

constexpr const char* mig_hint =
    "List what NVML reports with 'nvidia-smi -L', and create instances with 'nvidia-smi mig -cgi … -C'.";

Result<DriverFiles> read_driver(const Root& host, const CdiSources& sources) {
    if (sources.driver_root)
        return find_driver(host, *sources.driver_root);
    return present_driver(host);
}

} // namespace

std::vector<SpecNode> driver_nodes(const Root& host) {
    const NodeReader nodes(host, "");
    auto found = nodes.find_driver();
    for (const std::string& address : gpu_addresses(host))
        for (SpecNode& node : nodes.find_graphics(drm_names(host, address)))
            found.push_back(std::move(node));
    return found;
}

Result<MadeSpec> make_gpu_spec(const Root& host, const CdiSources& sources) {
    CdiFacts facts;
    GPUHOST_TRY(driver, read_driver(host, sources));
    facts.driver = std::move(driver);
    const NodeReader nodes(host, sources.device_root);
    for (Gpu& gpu : read_gpus(host)) {
        GPUHOST_TRY(found, nodes.find(std::move(gpu)));
        facts.gpus.push_back(std::move(found));
    }
    if (facts.gpus.empty())
        return base::fail(Errc::NotFound, "the driver serves no GPU", nodes_hint);
    GPUHOST_TRY(control, nodes.find_control());
    facts.control = std::move(control);
    MigDevices mig(host, nodes, facts.driver);
    for (GpuNodes& gpu : facts.gpus)
        gpu.instances = mig.instances(gpu.gpu);
    facts.hook = base::installed_program(hook_program);
    facts.groups = sources.groups;
    MadeSpec made{gpu_spec(facts), mig.problems()};
    if (made.spec.devices.size() > 1) // if "all" is the only device, it has no GPU
        return made;
    if (made.problems.empty())
        return base::fail(Errc::Unsupported, "MIG is enabled on every GPU, but there are no MIG instances",
                          mig_hint);
    return base::fail(Errc::Failed, made.problems.front(), mig_hint); // a retry may succeed
}

Result<MadeSpec> make_management_spec(const Root& host, const CdiSources& sources) {
    CdiFacts facts;
    GPUHOST_TRY(driver, read_driver(host, sources));
    facts.driver = std::move(driver);
    facts.all = NodeReader(host, sources.device_root).find_driver();
    if (facts.all.empty())
        return base::fail(Errc::NotFound, "the driver's device nodes are missing", nodes_hint);
    facts.hook = base::installed_program(hook_program);
    facts.groups = sources.groups;
    return MadeSpec{management_spec(facts), {}};
}

} // namespace gpuhost::runtime
