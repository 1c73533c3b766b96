// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/gpu/gpus.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace gpuhost::runtime {
namespace {

constexpr std::string_view gpus_directory = "/proc/driver/nvidia/gpus";
constexpr std::string_view pci_devices = "/sys/bus/pci/devices";

/// Returns a key to sort "0000:06:00.0" by: its parts as numbers. A domain may have more than four digits.
std::vector<std::uint64_t> address_order(const std::string& address) {
    std::vector<std::uint64_t> order;
    std::string text = address;
    std::replace(text.begin(), text.end(), '.', ':');
    for (const std::string& part : base::split(text, ':'))
        order.push_back(base::parse_uint(part, 16).value_or(std::numeric_limits<std::uint64_t>::max()));
    return order;
}

std::map<std::string, std::string> parse_fields(std::string_view text) {
    std::map<std::string, std::string> fields;
    for (const std::string& line : base::split(text, '\n'))
        if (const auto colon = line.find(':'); colon != std::string::npos)
            fields.emplace(base::trim(line.substr(0, colon)),
                           base::trim(std::string_view(line).substr(colon + 1)));
    return fields;
}

} // namespace

std::optional<Gpu> parse_gpu(std::string_view address, std::string_view information) {
    auto fields = parse_fields(information);
    const auto minor = base::parse_uint(fields["Device Minor"]);
    if (!minor || *minor > std::numeric_limits<unsigned>::max() || fields["GPU Excluded"] == "Yes")
        return std::nullopt;
    const std::string& uuid = fields["GPU UUID"];
    const bool known = base::starts_with(uuid, "GPU-") && uuid.find('?') == std::string::npos;
    return Gpu{std::string(address), known ? uuid : "", static_cast<unsigned>(*minor), {}};
}

std::vector<std::string> gpu_addresses(const base::Root& root) {
    return root.list(gpus_directory).value_or(std::vector<std::string>());
}

std::vector<std::string> drm_names(const base::Root& root, const std::string& address) {
    return root.list(std::string(pci_devices) + "/" + address + "/drm").value_or(std::vector<std::string>());
}

std::vector<std::string> mig_instances(const base::Root& root) {
    const std::string capabilities = "/proc/driver/nvidia/capabilities/";
    const auto below = [&](const std::string& path, std::string_view prefix) {
        std::vector<std::string> found;
        for (const std::string& name : root.list(capabilities + path).value_or(std::vector<std::string>()))
            if (base::starts_with(name, prefix))
                found.push_back(path.empty() ? name : path + "/" + name);
        return found;
    };
    std::vector<std::string> instances;
    for (const std::string& gpu : below("", "gpu"))
        for (const std::string& instance : below(gpu + "/mig", "gi")) {
            instances.push_back(instance);
            for (std::string& compute : below(instance, "ci"))
                instances.push_back(std::move(compute));
        }
    return instances;
}

std::vector<Gpu> read_gpus(const base::Root& root) {
    std::vector<Gpu> gpus;
    for (const std::string& address : gpu_addresses(root)) {
        const std::string file = std::string(gpus_directory) + "/" + address + "/information";
        auto gpu = parse_gpu(address, root.read(file).value_or(std::string()));
        if (!gpu)
            continue;
        gpu->drm = drm_names(root, address);
        gpus.push_back(std::move(*gpu));
    }
    std::sort(gpus.begin(), gpus.end(),
              [](const Gpu& a, const Gpu& b) { return address_order(a.address) < address_order(b.address); });
    return gpus;
}

} // namespace gpuhost::runtime
