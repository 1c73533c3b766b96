// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/inventory.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/devices/sharing.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::int64_t last_number = 0xffff;             ///< upper limit of minors, indices and ids
constexpr std::size_t longest_node = 64;                 ///< path in /dev
constexpr std::size_t most_nodes = 16;                   ///< of a device, or of all
constexpr std::size_t most_nvlinks = 64;                 ///< of a GPU; those of today have at most 36
constexpr std::size_t longest_id = 63 - longest_replica; ///< of a device; the kubelet refuses more than 63

/// Returns true if the text is safe as the name of a device that people and the kubelet use.
bool is_uuid(const std::string& text, std::string_view prefix) {
    return base::starts_with(text, prefix) && text.size() > prefix.size() && text.size() <= longest_id &&
           text.back() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
           });
}

/// Returns true if the text has the form "0000:06:00.0".
bool is_address(std::string_view text) {
    constexpr std::string_view form = "xxxx:xx:xx.x";
    return text.size() == form.size() &&
           std::equal(text.begin(), text.end(), form.begin(), [](char c, char of) {
               return of == 'x' ? (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') : c == of;
           });
}

bool is_node(const std::string& path) {
    constexpr std::string_view prefix = "/dev/nvidia";
    return base::starts_with(path, prefix) && path.size() <= longest_node &&
           std::all_of(path.begin() + prefix.size(), path.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '/';
           });
}

base::Error bad(const std::string& what) {
    return {Errc::BadContent, "the list of GPUs has " + what, ""};
}

Result<unsigned> number_of(const Json& object, std::string_view key) {
    GPUHOST_TRY(number, base::get_int(object, key));
    if (number < 0 || number > last_number)
        return base::fail(bad("an invalid " + std::string(key)));
    return static_cast<unsigned>(number);
}

/// The members of Attributes in JSON.
constexpr std::array<std::pair<const char*, unsigned Attributes::*>, 9> attribute_names{{
    {"memory_mib", &Attributes::memory_mib},
    {"multiprocessors", &Attributes::multiprocessors},
    {"gpu_slices", &Attributes::gpu_slices},
    {"compute_slices", &Attributes::compute_slices},
    {"copy_engines", &Attributes::copy_engines},
    {"decoders", &Attributes::decoders},
    {"encoders", &Attributes::encoders},
    {"jpeg_engines", &Attributes::jpeg_engines},
    {"ofa_engines", &Attributes::ofa_engines},
}};

Json to_json(const Attributes& attributes) {
    Json object;
    for (const auto& [name, member] : attribute_names)
        object[name] = attributes.*member;
    return object;
}

/// Returns a member that is a number of 31 bits; 0 for any other.
unsigned small_number(const Json& object, std::string_view key) {
    const std::int64_t number = base::int_or(object, key, 0);
    return number < 0 || number > std::numeric_limits<std::int32_t>::max() ? 0
                                                                           : static_cast<unsigned>(number);
}

Attributes attributes_from_json(const Json& value) {
    Attributes attributes;
    for (const auto& [name, member] : attribute_names)
        attributes.*member = small_number(value, name);
    return attributes;
}

Json to_json(const Instance& instance) {
    return {{"uuid", instance.uuid},
            {"profile", instance.profile},
            {"index", instance.index},
            {"gpu_instance", instance.gpu_instance},
            {"compute_instance", instance.compute_instance},
            {"attributes", to_json(instance.attributes)},
            {"nodes", instance.nodes}};
}

Json to_json(const std::vector<NvLinks>& nvlinks) {
    Json list = Json::array();
    for (const NvLinks& one : nvlinks)
        list.push_back({{"gpu", one.gpu}, {"count", one.count}});
    return list;
}

Json to_json(const Gpu& gpu) {
    Json instances = Json::array();
    for (const Instance& instance : gpu.instances)
        instances.push_back(to_json(instance));
    return {{"uuid", gpu.uuid},
            {"address", gpu.address},
            {"minor", gpu.minor},
            {"numa", gpu.numa ? Json(*gpu.numa) : Json()},
            {"model", gpu.model},
            {"memory_mib", gpu.memory_mib},
            {"compute_capability", gpu.compute_capability},
            {"split", gpu.split},
            {"instances", std::move(instances)},
            {"problem", gpu.problem},
            {"pci_class", gpu.pci_class},
            {"mig_capable", gpu.mig_capable},
            {"vgpu", gpu.vgpu},
            {"fabric", gpu.fabric},
            {"nvlinks", to_json(gpu.nvlinks)},
            {"index", gpu.index},
            {"memory_pending", gpu.memory_pending},
            {"memory_failed", gpu.memory_failed}};
}

Result<Instance> instance_from_json(const Json& value) {
    GPUHOST_TRY(uuid, base::get_string(value, "uuid"));
    if (!is_uuid(uuid, "MIG-"))
        return base::fail(bad("an invalid UUID of a MIG instance"));
    GPUHOST_TRY(index, number_of(value, "index"));
    GPUHOST_TRY(gpu_instance, number_of(value, "gpu_instance"));
    GPUHOST_TRY(compute_instance, number_of(value, "compute_instance"));
    GPUHOST_TRY(nodes, nodes_from_json(base::member(value, "nodes")));
    return Instance{std::move(uuid),
                    base::string_or(value, "profile", ""),
                    index,
                    gpu_instance,
                    compute_instance,
                    attributes_from_json(base::member(value, "attributes")),
                    std::move(nodes)};
}

Result<std::vector<NvLinks>> nvlinks_from_json(const Json& list) {
    std::vector<NvLinks> nvlinks;
    std::size_t total = 0;
    for (const Json& element : list) {
        GPUHOST_TRY(gpu, base::get_string(element, "gpu"));
        GPUHOST_TRY(count, number_of(element, "count"));
        total += count;
        if (!is_uuid(gpu, "GPU-") || count == 0 || total > most_nvlinks)
            return base::fail(bad("invalid NVLinks"));
        nvlinks.push_back({std::move(gpu), count});
    }
    return nvlinks;
}

Result<Gpu> gpu_from_json(const Json& value) {
    GPUHOST_TRY(uuid, base::get_string(value, "uuid"));
    if (!is_uuid(uuid, "GPU-"))
        return base::fail(bad("an invalid UUID of a GPU"));
    GPUHOST_TRY(address, base::get_string(value, "address"));
    if (!is_address(address))
        return base::fail(bad("an invalid PCI address"));
    GPUHOST_TRY(minor, number_of(value, "minor"));
    Gpu gpu;
    gpu.uuid = std::move(uuid);
    gpu.address = std::move(address);
    gpu.minor = minor;
    if (!base::member(value, "numa").is_null()) {
        GPUHOST_TRY(numa, number_of(value, "numa"));
        gpu.numa = numa;
    }
    gpu.model = base::string_or(value, "model", "");
    gpu.memory_mib =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, base::int_or(value, "memory_mib", 0)));
    gpu.compute_capability = base::string_or(value, "compute_capability", "");
    gpu.split = base::bool_or(value, "split", false);
    gpu.problem = base::string_or(value, "problem", "");
    gpu.pci_class = base::string_or(value, "pci_class", "");
    gpu.mig_capable = base::bool_or(value, "mig_capable", false);
    gpu.vgpu = base::bool_or(value, "vgpu", false);
    gpu.fabric = base::string_or(value, "fabric", "");
    gpu.memory_pending = base::bool_or(value, "memory_pending", false);
    gpu.memory_failed = base::bool_or(value, "memory_failed", false);
    GPUHOST_TRY(nvlinks, nvlinks_from_json(base::list_of(value, "nvlinks")));
    gpu.nvlinks = std::move(nvlinks);
    gpu.index = small_number(value, "index");
    for (const Json& element : base::list_of(value, "instances")) {
        GPUHOST_TRY(instance, instance_from_json(element));
        gpu.instances.push_back(std::move(instance));
    }
    return gpu;
}

} // namespace

Json to_json(const HostFacts& host) {
    return {{"driver", host.driver}, {"cuda_version", host.cuda_version}, {"machine", host.machine}};
}

HostFacts host_facts_from_json(const Json& value) {
    return {base::string_or(value, "driver", ""), small_number(value, "cuda_version"),
            base::string_or(value, "machine", "")};
}

Result<std::vector<std::string>> nodes_from_json(const Json& list) {
    std::vector<std::string> nodes;
    if (!list.is_null() && !list.is_array())
        return base::fail(Errc::BadContent, "the list of nodes in /dev is not a list");
    for (const Json& element : list) {
        nodes.push_back(element.is_string() ? element.get<std::string>() : "");
        if (!is_node(nodes.back()) || nodes.size() > most_nodes)
            return base::fail(Errc::BadContent, "invalid list of nodes in /dev");
    }
    return nodes;
}

Json to_json(const std::vector<Gpu>& gpus) {
    Json list = Json::array();
    for (const Gpu& gpu : gpus)
        list.push_back(to_json(gpu));
    return list;
}

Result<std::vector<Gpu>> gpus_from_json(const Json& list) {
    if (!list.is_array())
        return base::fail(Errc::BadContent, "the list of GPUs is missing");
    std::vector<Gpu> gpus;
    std::set<std::string> uuids;
    for (const Json& element : list) {
        GPUHOST_TRY(gpu, gpu_from_json(element));
        bool unique = uuids.insert(gpu.uuid).second;
        for (const Instance& instance : gpu.instances)
            unique = uuids.insert(instance.uuid).second && unique;
        if (!unique)
            return base::fail(bad("a UUID twice"));
        gpus.push_back(std::move(gpu));
    }
    return gpus;
}

} // namespace gpuhost::devices
