// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/present_gpus.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/cdi/driver_root.hpp"
#include "daemon/runtime/gpu/mig_minors.hpp"

#include <algorithm>

namespace gpuhost::devices {

using base::Result;
using base::Root;
using runtime::NvmlGpu;

namespace {

constexpr std::size_t longest_machine = 100;

std::optional<unsigned> numa_node(const Root& host, const std::string& address) {
    const auto line = host.read_line("/sys/bus/pci/devices/" + address + "/numa_node");
    const auto node = line ? base::parse_uint(*line) : std::nullopt; // "-1": the host has no such nodes
    return node && *node <= 0xffff ? std::optional(static_cast<unsigned>(*node)) : std::nullopt;
}

/// Returns the machine's product name, with printable characters only; empty if it is unknown.
std::string machine_of(const Root& host) {
    std::string name = host.read_line("/sys/class/dmi/id/product_name").value_or(std::string());
    std::erase_if(name, [](char c) { return c < ' ' || c > '~'; });
    name.resize(std::min(name.size(), longest_machine));
    return name;
}

Attributes attributes_of(const runtime::MigAttributes& said) {
    return {said.memory_mib, said.multiprocessors, said.gpu_slices,   said.compute_slices, said.copy_engines,
            said.decoders,   said.encoders,        said.jpeg_engines, said.ofa_engines};
}

/// Returns true if the driver's files have a MIG instance of the GPU.
bool has_instances(const std::vector<std::string>& instances, unsigned minor) {
    const std::string prefix = "gpu" + std::to_string(minor) + "/";
    return std::any_of(instances.begin(), instances.end(),
                       [&](const std::string& one) { return base::starts_with(one, prefix); });
}

/// Returns the nodes of a MIG instance beside that of its GPU; none if they are unknown.
std::vector<std::string> nodes_of(const runtime::MigMinors& minors, unsigned gpu,
                                  const runtime::NvmlInstance& one) {
    auto outer = minors.of_gpu_instance(gpu, one.gpu_instance);
    auto inner = minors.of_compute_instance(gpu, one.gpu_instance, one.compute_instance);
    if (!outer || !inner)
        return {};
    return {*std::move(outer), *std::move(inner)};
}

runtime::MigMinors mig_minors(const Root& host) {
    const auto text = host.read(runtime::mig_minors_file);
    return runtime::MigMinors::parse(text ? *text : std::string()).value_or(runtime::MigMinors());
}

void add_reported(const NvmlGpu& reported, const runtime::MigMinors& minors, Gpu& gpu) {
    if (!reported.uuid.empty())
        gpu.uuid = reported.uuid;
    gpu.model = reported.model;
    gpu.memory_mib = reported.memory_mib;
    gpu.compute_capability = reported.compute_capability;
    gpu.split = gpu.split || reported.split;
    gpu.mig_capable = reported.mig_capable;
    gpu.vgpu = reported.vgpu;
    gpu.fabric = reported.fabric;
    gpu.memory_pending = reported.memory_pending;
    gpu.memory_failed = reported.memory_failed;
    for (const runtime::NvmlInstance& one : reported.instances)
        gpu.instances.push_back({one.uuid, one.profile, one.index, one.gpu_instance, one.compute_instance,
                                 attributes_of(one.attributes), nodes_of(minors, gpu.minor, one)});
    if (!reported.problem.empty())
        gpu.problem = "NVML: " + reported.problem;
    else if (reported.uuid.empty())
        gpu.problem = "NVML does not describe the GPU";
    else if (reported.joins_fabric)
        gpu.problem = "the NVLink fabric is not complete yet";
}

/// Adds the NVLinks between GPUs that are present. NVML's minor numbers become UUIDs.
void add_nvlinks(const std::vector<NvmlGpu>& reported, std::vector<Gpu>& gpus) {
    const auto with_minor = [](const auto& list, unsigned minor) {
        return std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.minor == minor; });
    };
    for (Gpu& gpu : gpus) {
        const auto said = with_minor(reported, gpu.minor);
        if (said == reported.end())
            continue;
        for (const runtime::NvmlLinks& one : said->nvlinks)
            if (const auto peer = with_minor(gpus, one.minor); peer != gpus.end() && &*peer != &gpu)
                gpu.nvlinks.push_back({peer->uuid, one.count});
    }
}

Result<std::vector<NvmlGpu>> ask(const Root& host) {
    GPUHOST_TRY(driver, runtime::present_driver(host));
    GPUHOST_TRY(library, runtime::nvml_library(driver));
    return runtime::ask_nvml(host, library);
}

} // namespace

PresentGpus merge_gpus(const Root& host, const std::vector<runtime::Gpu>& gpus,
                       const Result<std::vector<NvmlGpu>>& reported) {
    const std::vector<std::string> instances = runtime::mig_instances(host);
    const runtime::MigMinors minors = mig_minors(host);
    PresentGpus present;
    if (!reported)
        present.failure = reported.error().message;
    present.host.driver = host.read_line("/sys/module/nvidia/version").value_or(std::string());
    present.host.machine = machine_of(host);
    for (std::size_t index = 0; index < gpus.size(); ++index) {
        const runtime::Gpu& found = gpus[index];
        Gpu gpu;
        gpu.index = static_cast<unsigned>(index);
        gpu.uuid = found.uuid;
        gpu.address = found.address;
        gpu.minor = found.minor;
        gpu.numa = numa_node(host, found.address);
        gpu.pci_class =
            host.read_line("/sys/bus/pci/devices/" + found.address + "/class").value_or(std::string());
        gpu.split = has_instances(instances, found.minor);
        const NvmlGpu* said = nullptr;
        if (reported)
            for (const NvmlGpu& one : *reported)
                if (one.minor == found.minor)
                    said = &one;
        if (said != nullptr) {
            add_reported(*said, minors, gpu);
            present.renumbered |= said->index && *said->index != gpu.index;
            present.host.cuda_version = std::max(present.host.cuda_version, said->cuda_version);
        } else if (reported) {
            gpu.problem = "NVML does not report the GPU";
        }
        if (!gpu.problem.empty())
            present.problems.push_back("GPU " + gpu.address + ": " + gpu.problem);
        // Checks the UUIDs together with those of earlier GPUs.
        present.gpus.push_back(gpu);
        if (const auto valid = gpus_from_json(to_json(present.gpus)); !valid) {
            present.gpus.pop_back();
            present.problems.push_back("GPU " + gpu.address + " is not offered: " +
                                       (gpu.uuid.empty() ? "its UUID is unknown" : valid.error().message));
        }
    }
    if (reported)
        add_nvlinks(*reported, present.gpus);
    return present;
}

std::vector<std::string> control_nodes(const Root& host) {
    std::vector<std::string> nodes;
    for (const char* node :
         {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"})
        if (host.exists(node))
            nodes.emplace_back(node);
    return nodes;
}

PresentGpus read_present_gpus(const Root& host) {
    // NVML is asked first, because it makes the driver read the UUIDs of GPUs.
    const auto reported = ask(host);
    return merge_gpus(host, runtime::read_gpus(host), reported);
}

} // namespace gpuhost::devices
