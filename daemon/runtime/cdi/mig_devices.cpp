// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/mig_devices.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Result;
using base::Root;

namespace {

/// Returns the minor of the GPU in the name of a MIG instance: 3 for "gpu3/mig/gi1".
std::optional<unsigned> minor_of(const std::string& instance) {
    const auto number = base::parse_uint(instance.substr(3, instance.find('/') - 3));
    return number && *number <= 0xffff ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

Result<std::vector<NvmlGpu>> ask(const Root& host, const DriverFiles& driver) {
    GPUHOST_TRY(library, nvml_library(driver));
    return ask_nvml(host, library);
}

Result<MigMinors> read_minors(const Root& host) {
    GPUHOST_TRY(text, host.read(mig_minors_file));
    return MigMinors::parse(text);
}

} // namespace

MigDevices::MigDevices(const Root& host, const NodeReader& nodes, const DriverFiles& driver) : nodes_(nodes) {
    for (const std::string& instance : mig_instances(host))
        if (const auto minor = minor_of(instance))
            split_.insert(*minor);
    if (split_.empty())
        return;
    auto minors = read_minors(host);
    if (minors)
        minors_ = std::move(*minors);
    auto reported = minors ? ask(host, driver) : base::fail(minors.error());
    if (reported)
        reported_ = std::move(*reported);
    else
        nvml_error_ = reported.error();
}

std::optional<std::vector<MigNodes>> MigDevices::instances(const Gpu& gpu) {
    const auto reported = std::find_if(reported_.begin(), reported_.end(),
                                       [&](const NvmlGpu& one) { return one.minor == gpu.minor; });
    if (reported == reported_.end() && split_.count(gpu.minor) == 0)
        return std::nullopt;
    if (reported == reported_.end()) {
        problems_.push_back("the MIG instances of GPU " + gpu.address + " are left out: " +
                            (nvml_error_ ? nvml_error_->message : "NVML does not report the GPU"));
        return std::vector<MigNodes>();
    }
    const bool is_unclear = !reported->problem.empty();
    if (is_unclear)
        problems_.push_back("MIG instances of GPU " + gpu.address +
                            " are left out: NVML: " + reported->problem);
    if (!reported->split && (!is_unclear || split_.count(gpu.minor) == 0))
        return std::nullopt;
    std::vector<MigNodes> found;
    for (const NvmlInstance& instance : reported->instances)
        if (auto one = find(gpu, instance))
            found.push_back(std::move(*one));
    return found;
}

std::optional<MigNodes> MigDevices::find(const Gpu& gpu, const NvmlInstance& instance) {
    const auto left_out = [&](const std::string& why) {
        problems_.push_back("MIG instance " + instance.uuid + " of GPU " + gpu.address +
                            " is left out: " + why);
        return std::nullopt;
    };
    const auto outer = minors_.of_gpu_instance(gpu.minor, instance.gpu_instance);
    const auto inner =
        minors_.of_compute_instance(gpu.minor, instance.gpu_instance, instance.compute_instance);
    if (!outer || !inner)
        return left_out(std::string(mig_minors_file) + " does not list it");
    MigNodes found{instance.index, instance.uuid, {}, {}};
    for (const std::string& path : {"/dev/nvidia" + std::to_string(gpu.minor), *outer, *inner}) {
        auto node = nodes_.find(path);
        if (!node)
            return left_out(nodes_.on_host(path) + " is missing");
        found.nodes.push_back(std::move(*node));
    }
    if (instance.graphics) {
        for (SpecNode& node : nodes_.find_graphics(gpu.drm))
            found.nodes.push_back(std::move(node));
        found.links = nodes_.find_links(gpu.address, found.nodes);
    }
    return found;
}

} // namespace gpuhost::runtime
