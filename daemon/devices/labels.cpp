// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/labels.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/devices/label_group.hpp"
#include "daemon/devices/mig_labels.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gpuhost::devices {

namespace {

void add_versions(const HostFacts& host, Labels& labels) {
    const auto parts = base::split(host.driver, '.');
    if (parts.size() == 2 || parts.size() == 3) {
        const std::string revision = parts.size() == 3 ? parts[2] : "";
        LabelGroup driver(labels, "nvidia.com/cuda.driver-version");
        driver.set("major", parts[0]);
        driver.set("minor", parts[1]);
        driver.set("revision", revision);
        driver.set("full", host.driver);
        LabelGroup former(labels, "nvidia.com/cuda.driver");
        former.set("major", parts[0]);
        former.set("minor", parts[1]);
        former.set("rev", revision);
    }
    if (host.cuda_version == 0)
        return;
    const unsigned major = host.cuda_version / 1000;
    const unsigned minor = host.cuda_version % 1000 / 10;
    for (const char* name : {"nvidia.com/cuda.runtime-version", "nvidia.com/cuda.runtime"}) {
        LabelGroup runtime(labels, name);
        runtime.set("major", major);
        runtime.set("minor", minor);
    }
    LabelGroup(labels, "nvidia.com/cuda.runtime-version")
        .set("full", std::to_string(major) + "." + std::to_string(minor));
}

/// Returns the name of an architecture, by its compute capability.
std::string_view family_of(unsigned major, unsigned minor) {
    constexpr std::array<std::pair<unsigned, std::string_view>, 9> names{{{1, "tesla"},
                                                                          {2, "fermi"},
                                                                          {3, "kepler"},
                                                                          {5, "maxwell"},
                                                                          {6, "pascal"},
                                                                          {9, "hopper"},
                                                                          {10, "blackwell"},
                                                                          {12, "blackwell"},
                                                                          {13, "rubin"}}};
    if (major == 7)
        return minor < 5 ? "volta" : "turing";
    if (major == 8)
        return minor < 9 ? "ampere" : "ada-lovelace";
    const auto* const found =
        std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.first == major; });
    return found == names.end() ? "undefined" : found->second;
}

void add_architecture(const Gpu& gpu, LabelGroup& group) {
    const auto parts = base::split(gpu.compute_capability, '.');
    const auto major = base::parse_uint(parts.front());
    const auto minor = parts.size() == 2 ? base::parse_uint(parts.back()) : std::nullopt;
    if (!major || !minor || *major == 0 || *major > 0xffff || *minor > 0xffff)
        return;
    group.set("family", std::string(family_of(static_cast<unsigned>(*major), static_cast<unsigned>(*minor))));
    group.set("compute.major", *major);
    group.set("compute.minor", *minor);
}

/// Returns the first GPU of the model that has the most GPUs; null if no model is known.
const Gpu* chief(const std::vector<Gpu>& gpus) {
    std::map<std::string_view, std::size_t> counts;
    for (const Gpu& gpu : gpus)
        ++counts[gpu.model];
    const Gpu* best = nullptr;
    for (const Gpu& gpu : gpus)
        if (!gpu.model.empty() && (best == nullptr || counts[gpu.model] > counts[best->model]))
            best = &gpu;
    return best;
}

/// Adds the labels of whole GPUs. If MIG is on for all GPUs of the model, they can't be shared: 0 replicas.
void add_whole(const Offer& offer, const Gpu& first, LabelGroup& group) {
    std::size_t count = 0;
    const Gpu* shown = &first;
    bool is_split = true;
    for (const Gpu& gpu : offer.gpus) {
        if (gpu.model != first.model)
            continue;
        ++count;
        if (is_split && !gpu.split) {
            is_split = false;
            shown = &gpu;
        }
    }
    if (is_split) {
        group.set("product", sanitised(shown->model));
        group.set_number(count, 0, "none");
    } else {
        group.set_devices(sanitised(shown->model), count, offer.sharing, offer.resource);
    }
    if (shown->memory_mib != 0)
        group.set("memory", shown->memory_mib);
    add_architecture(*shown, group);
}

std::string mode_of(const std::vector<Gpu>& gpus) {
    const std::string& first = gpus.front().pci_class;
    if (std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.pci_class != first; }))
        return "unknown";
    return first == "0x030000" ? "graphics" : first == "0x030200" ? "compute" : "unknown";
}

/// Returns the fabric that all GPUs with a fabric share; empty if there is none.
std::string fabric_of(const std::vector<Gpu>& gpus) {
    std::string found;
    for (const Gpu& gpu : gpus) {
        if (gpu.fabric.empty())
            continue;
        if (!found.empty() && found != gpu.fabric)
            return {};
        found = gpu.fabric;
    }
    return found;
}

} // namespace

Labels labels_of(const Offer& offer) {
    Labels labels;
    const std::vector<Gpu>& gpus = offer.gpus;
    const Gpu* const first = chief(gpus);
    if (first == nullptr)
        return labels;
    add_versions(offer.host, labels);
    LabelGroup group(labels, whole_gpus);
    group.set("machine", offer.host.machine.empty() ? "unknown" : sanitised(offer.host.machine));
    add_whole(offer, *first, group);
    group.set("mode", mode_of(gpus));
    if (const std::string fabric = fabric_of(gpus); !fabric.empty())
        group.set("clique", fabric);
    const auto any = [&](bool Gpu::*member) {
        return std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.*member; });
    };
    labels["nvidia.com/mig.capable"] = any(&Gpu::mig_capable) ? "true" : "false";
    labels["nvidia.com/mps.capable"] = "false";
    labels["nvidia.com/vgpu.present"] = any(&Gpu::vgpu) ? "true" : "false";
    if (offer.mig == MigStrategy::none)
        return labels;
    labels["nvidia.com/mig.strategy"] = std::string(name_of(offer.mig));
    if (offer.mig == MigStrategy::single)
        add_single_labels(offer, labels);
    else
        add_mixed_labels(offer, labels);
    return labels;
}

std::optional<Labels> published_labels(const Offer& offer, LabelMode writer) {
    if (offer.labels != writer)
        return Labels();
    if (!offer.withdrawn.empty())
        return std::nullopt;
    Labels labels = labels_of(offer);
    return labels.empty() ? std::nullopt : std::optional(std::move(labels));
}

std::string to_lines(const Labels& labels) {
    std::string lines;
    for (const auto& [name, value] : labels)
        lines += name + "=" + value + "\n";
    return lines;
}

} // namespace gpuhost::devices
