// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/spec.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Json;

namespace {

/// Omits a member without a value: CDI versions that lack the member refuse it.
template <class T>
void put(Json& object, const char* key, const T& value) {
    if (value != T())
        object[key] = value;
}

template <class T>
void put(Json& object, const char* key, const std::optional<T>& value) {
    if (value)
        object[key] = *value;
}

Json to_json(const SpecNode& node) {
    Json object{{"path", node.path}};
    put(object, "hostPath", node.host_path);
    put(object, "type", node.type);
    put(object, "major", node.major);
    put(object, "minor", node.minor);
    put(object, "fileMode", node.file_mode);
    put(object, "permissions", node.permissions);
    put(object, "uid", node.uid);
    put(object, "gid", node.gid);
    return object;
}

Json to_json(const SpecMount& mount) {
    Json object{{"hostPath", mount.host_path}, {"containerPath", mount.container_path}};
    put(object, "options", mount.options);
    put(object, "type", mount.type);
    return object;
}

Json to_json(const SpecHook& hook) {
    Json object{{"hookName", hook.name}, {"path", hook.path}};
    put(object, "args", hook.args);
    put(object, "env", hook.env);
    put(object, "timeout", hook.timeout);
    return object;
}

Json to_json(const SpecNetDevice& device) {
    return {{"hostInterfaceName", device.host_interface}, {"name", device.name}};
}

Json to_json(const SpecIntelRdt& rdt) {
    Json object = Json::object();
    put(object, "closID", rdt.clos_id);
    put(object, "l3CacheSchema", rdt.l3_cache_schema);
    put(object, "memBwSchema", rdt.mem_bw_schema);
    put(object, "schemata", rdt.schemata);
    put(object, "enableMonitoring", rdt.enable_monitoring);
    return object;
}

template <class T>
void put_all(Json& object, const char* key, const std::vector<T>& values) {
    for (const T& value : values)
        object[key].push_back(to_json(value));
}

bool uses_1_1(const SpecEdits& edits) {
    return !edits.net_devices.empty() ||
           (edits.intel_rdt && (!edits.intel_rdt->schemata.empty() || edits.intel_rdt->enable_monitoring));
}

bool uses_0_7(const SpecEdits& edits) {
    return edits.intel_rdt || !edits.additional_gids.empty();
}

bool uses_0_5(const SpecEdits& edits) {
    return std::any_of(edits.nodes.begin(), edits.nodes.end(),
                       [](const SpecNode& node) { return !node.host_path.empty(); });
}

bool uses_0_4(const SpecEdits& edits) {
    return std::any_of(edits.mounts.begin(), edits.mounts.end(),
                       [](const SpecMount& mount) { return !mount.type.empty(); });
}

bool begins_with_digit(const SpecDevice& device) {
    return !device.name.empty() && device.name[0] >= '0' && device.name[0] <= '9';
}

bool has_annotations(const SpecDevice& device) {
    return !device.annotations.empty();
}

bool has_dotted_class(const Spec& spec) {
    const auto slash = spec.kind.find('/');
    return slash != std::string::npos && spec.kind.find('.', slash) != std::string::npos;
}

} // namespace

std::string minimum_version(const Spec& spec) {
    const auto any_edits = [&](bool (*uses)(const SpecEdits&)) {
        return uses(spec.edits) || std::any_of(spec.devices.begin(), spec.devices.end(),
                                               [&](const auto& device) { return uses(device.edits); });
    };
    const auto any_device = [&](bool (*is)(const SpecDevice&)) {
        return std::any_of(spec.devices.begin(), spec.devices.end(), is);
    };
    if (any_edits(uses_1_1))
        return "1.1.0";
    if (any_edits(uses_0_7))
        return "0.7.0";
    if (!spec.annotations.empty() || any_device(has_annotations) || has_dotted_class(spec))
        return "0.6.0";
    if (any_device(begins_with_digit) || any_edits(uses_0_5))
        return "0.5.0";
    return any_edits(uses_0_4) ? "0.4.0" : "0.3.0";
}

Json to_json(const SpecEdits& edits) {
    Json object = Json::object();
    put(object, "env", edits.env);
    put_all(object, "deviceNodes", edits.nodes);
    put_all(object, "netDevices", edits.net_devices);
    put_all(object, "hooks", edits.hooks);
    put_all(object, "mounts", edits.mounts);
    if (edits.intel_rdt)
        object["intelRdt"] = to_json(*edits.intel_rdt);
    put(object, "additionalGids", edits.additional_gids);
    return object;
}

Json to_json(const Spec& spec) {
    Json object{{"cdiVersion", spec.version}, {"kind", spec.kind}, {"devices", Json::array()}};
    put(object, "annotations", spec.annotations);
    for (const SpecDevice& device : spec.devices) {
        Json& element = object["devices"].emplace_back(Json::object());
        element["name"] = device.name;
        put(element, "annotations", device.annotations);
        element["containerEdits"] = to_json(device.edits);
    }
    if (!spec.edits.empty())
        object["containerEdits"] = to_json(spec.edits);
    return object;
}

std::string to_text(const Spec& spec) {
    return base::dump_pretty(to_json(spec)) + "\n";
}

} // namespace gpuhost::runtime
