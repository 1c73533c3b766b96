// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/state.hpp"

#include "config.h"
#include "daemon/devices/publish/config_file.hpp"
#include "daemon/devices/publish/marks.hpp"
#include "daemon/devices/publish/offer_files.hpp"
#include "daemon/devices/publish/other_servers.hpp"
#include "daemon/runtime/gpu/gpus.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::devices {

using base::Json;
using base::Root;
using Texts = std::vector<std::string>;

namespace {

struct Input {
    std::string_view key;
    std::string_view changed;
};
constexpr std::array input_names{Input{"gpuhost", "another version of gpuhostd made the offer"},
                                 Input{"gpus", "the GPUs have changed"},
                                 Input{"instances", "the MIG instances have changed"},
                                 Input{"resource", "ResourceName= has changed"},
                                 Input{"kubelet_root", "KubeletRoot= has changed"},
                                 Input{"mig_strategy", "MigStrategy= has changed"},
                                 Input{"health", "IgnoreXids=, FatalXids= or marks of GPUs have changed"},
                                 Input{"labels", "Labels= has changed"},
                                 Input{"taint_unhealthy", "UnhealthyTaint= has changed"},
                                 Input{"device_list_strategy", "DeviceListStrategy= has changed"},
                                 Input{"device_id_strategy", "DeviceIDStrategy= has changed"},
                                 Input{"pass_device_specs", "PassDeviceSpecs= has changed"},
                                 Input{"config_file", "ConfigFile= or its file has changed"}};

/// Returns the inputs of versions whose records do not have these keys yet.
Json inputs_of_earlier_versions() {
    return {{"health", to_json(HealthRules())},
            {"labels", name_of(LabelMode::node)},
            {"taint_unhealthy", false},
            {"device_list_strategy", names_of({ListStrategy::cdi_cri})},
            {"device_id_strategy", name_of(IdStrategy::uuid)},
            {"pass_device_specs", false},
            {"config_file", ""}};
}

/// Returns why an existing offer is outdated.
Texts differences(const Json& observed, const std::string& driver) {
    const Json& offer = base::member(observed, "offer");
    const Json& record = base::member(observed, "record");
    const Json& inputs = base::member(observed, "inputs");
    Json then = inputs_of_earlier_versions();
    if (const Json& known = base::member(record, "inputs"); known.is_object())
        then.update(known);
    Texts found;
    if (const std::string why = base::string_or(offer, "withdrawn", ""); !why.empty())
        return {"the GPUs are withdrawn from the kubelet: " + why};
    if (base::string_or(offer, "id", "") != base::string_or(record, "id", ""))
        return {"the offer to the kubelet is incomplete, or another program has changed it"};
    if (!base::bool_or(observed, "registry", false))
        return {"the directory below KubeletRoot= in which gpuhost-devices registers was removed or changed"};
    if (const std::string of = base::string_or(then, "driver", ""); of != driver)
        return {"the offer to the kubelet is for driver " + of + ", but " + driver + " is loaded"};
    const bool is_refused = !base::string_or(observed, "mistake", "").empty(); // not read again
    for (const auto& [key, changed] : input_names)
        if (base::member(inputs, key) != base::member(then, key) && !(is_refused && key == "config_file"))
            found.emplace_back(changed);
    if (found.empty() && !base::bool_or(observed, "features", true))
        found.emplace_back("the file of labels for Node Feature Discovery is outdated");
    if (std::string problem = base::string_or(record, "problem", ""); !problem.empty())
        found.push_back(std::move(problem));
    return found;
}

/// Returns the names of devices, for find_device().
Json device_names(const std::vector<Gpu>& gpus) {
    Json list = Json::array();
    for (const Gpu& gpu : gpus) {
        Json instances = Json::array();
        for (const Instance& instance : gpu.instances)
            instances.push_back({{"uuid", instance.uuid}});
        list.push_back({{"uuid", gpu.uuid}, {"address", gpu.address}, {"instances", std::move(instances)}});
    }
    return list;
}

} // namespace

Json offer_inputs(const Root& root, const DevicesSettings& settings) {
    const std::string version = root.read_line("/sys/module/nvidia/version").value_or(std::string());
    if (version.empty())
        return {{"driver", ""}};
    Texts gpus = runtime::gpu_addresses(root);
    std::sort(gpus.begin(), gpus.end());
    std::string unreadable; // devices.publish warns of it
    return {{"driver", version},
            {"gpuhost", PACKAGE_VERSION},
            {"gpus", std::move(gpus)},
            {"instances", runtime::mig_instances(root)},
            {"resource", settings.resource},
            {"kubelet_root", settings.kubelet_root},
            {"mig_strategy", name_of(settings.mig)},
            {"health", to_json(usable_rules(root, settings, unreadable))},
            {"labels", name_of(settings.labels)},
            {"taint_unhealthy", settings.taint_unhealthy},
            {"device_list_strategy", names_of(settings.strategies)},
            {"device_id_strategy", name_of(settings.ids)},
            {"pass_device_specs", settings.pass_nodes},
            {"config_file", config_identity(root, settings)}};
}

Json observe_devices(const Root& root, const DevicesSettings& settings) {
    Texts marked;
    std::string unreadable;
    for (const Mark& mark : usable_rules(root, settings, unreadable).marks)
        marked.push_back(mark.uuid);
    Json observed{
        {"serve", settings.serve}, {"exists", root.exists(offer_path)}, {"marked", std::move(marked)}};
    const auto offer = read_offer(root);
    observed["features"] = has_features(root, offer);
    if (!settings.serve && !observed["exists"].get<bool>())
        return observed;
    const auto answer = read_answer(root);
    const auto record = read_offer_record(root);
    observed["inputs"] = offer_inputs(root, settings);
    observed["offer"] = offer ? Json{{"id", offer->id},
                                     {"resource", offer->resource},
                                     {"withdrawn", offer->withdrawn},
                                     {"gpus", offer->gpus.size()},
                                     {"devices", device_names(offer->gpus)}}
                              : Json();
    observed["record"] =
        record ? Json{{"id", record->id}, {"inputs", record->inputs}, {"problem", record->problem}} : Json();
    observed["registry"] = has_registry(root, settings.kubelet_root);
    observed["running"] = is_served(root);
    observed["answer"] = answer ? base::parse_json(to_text(*answer), answer_path).value_or(Json()) : Json();
    observed["mistake"] = settings.serve ? known_mistake(root, settings) : std::string();
    observed["others"] = settings.serve ? other_servers(root) : Texts();
    return observed;
}

std::string observed_driver(const Json& observed) {
    return base::string_or(base::member(observed, "inputs"), "driver", "");
}

bool remains(const Json& observed) {
    return base::bool_or(observed, "exists", false) || !base::bool_or(observed, "features", true);
}

Texts offer_reasons(const DevicesSettings& settings, const Json& observed) {
    const bool exists = base::bool_or(observed, "exists", false);
    const std::string driver = observed_driver(observed);
    if (!settings.serve)
        return remains(observed) ? Texts{"section [Devices] has Serve=off"} : Texts();
    if (driver.empty())
        return exists ? Texts{"no driver is loaded"} : Texts();
    if (!base::member(observed, "offer").is_object())
        return {"the GPUs of driver " + driver + " are not offered to the kubelet"};
    return differences(observed, driver);
}

} // namespace gpuhost::devices
