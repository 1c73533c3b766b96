// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/gpu/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"
#include "daemon/devices/device_health.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

Table::Cell state_of(const Json& device) {
    const std::string state = text_of(device, "state");
    const std::uint64_t replicas = number_of(device, "replicas");
    const std::string resource =
        (replicas > 1 ? std::to_string(replicas) + " of " : "") + text_of(device, "resource");
    if (state == "connected")
        return {resource, Style::Good};
    if (state == "waiting")
        return {resource + ", kubelet not connected", Style::Warn};
    return {state == "withdrawn" ? "withdrawn" : "not offered", Style::Warn};
}

Table::Cell health_of(const Json& device) {
    const std::string state = text_of(base::member(device, "health"), "state");
    return {state == "healthy" ? "ok" : state, state == "healthy"     ? Style::Good
                                               : state == "unhealthy" ? Style::Bad
                                                                      : Style::Warn};
}

/// Returns "namespace/pod, …"; empty if there are none, or if they are unknown.
std::string pods_of(const Json& device) {
    std::vector<std::string> pods;
    for (const Json& one : list_of(device, "pods"))
        pods.push_back(text_of(one, "namespace") + "/" + text_of(one, "pod"));
    return base::join(pods, ", ");
}

std::string numa_of(const Json& gpu) {
    return base::member(gpu, "numa").is_number() ? std::to_string(number_of(gpu, "numa")) : "";
}

std::string memory_of(const Json& gpu) {
    const std::uint64_t memory = number_of(gpu, "memory_mib");
    return memory == 0 ? "" : human_bytes(memory << 20U);
}

void add_rows(Table& table, const Json& gpu) {
    const Json& instances = list_of(gpu, "instances");
    Table::Cell state = state_of(gpu);
    if (base::bool_or(gpu, "split", false) && text_of(gpu, "state") == "left-out")
        state = {instances.empty() ? "MIG is on, no instances" : "MIG"};
    table.add({text_of(gpu, "uuid"), text_of(gpu, "address"), text_of(gpu, "model"), memory_of(gpu),
               numa_of(gpu), health_of(gpu), std::move(state), pods_of(gpu)});
    for (const Json& one : instances)
        table.add({"  " + text_of(one, "uuid"), "", text_of(one, "profile"), "", "", health_of(one),
                   state_of(one), pods_of(one)});
}

std::string line(const Screen& screen, const std::string& what, const std::string& why) {
    return why.empty() ? "" : fit(screen, screen.paint(Style::Warn, what + ":") + " " + why + "\n");
}

/// Adds why a device is not healthy, and what to do.
void add_reason(std::string& text, const Screen& screen, const Json& device) {
    const Json& health = base::member(device, "health");
    if (text_of(health, "state") == "unknown")
        return; // printed once
    const std::string next = text_of(health, "advice");
    text +=
        line(screen, text_of(device, "uuid"), text_of(health, "reason") + (next.empty() ? "" : ". " + next));
}

/// Adds what a GPU and a MIG instance have: the state for the kubelet, and the health.
void add_device_facts(Facts& facts, const Screen& screen, const Json& device) {
    const Table::Cell state = state_of(device);
    facts.add("Kubelet", screen.paint(state.style, state.text));
    for (const Json& one : list_of(device, "pods"))
        facts.add("Pod", text_of(one, "namespace") + "/" + text_of(one, "pod") + ", container " +
                             text_of(one, "container"));
    const Table::Cell health = health_of(device);
    facts.add("Health", screen.paint(health.style, health.text));
    const Json& why = base::member(device, "health");
    if (text_of(why, "reason").empty())
        return;
    facts.add("Reason", text_of(why, "reason"));
    if (number_of(why, "since_us") > 0)
        facts.add("Since", human_time(number_of(why, "since_us")));
    if (text_of(why, "state") == "unhealthy")
        facts.add("Ends by",
                  text_of(why, "recovery") == "none" ? "a clear" : "a " + text_of(why, "recovery"));
    if (const std::string next = text_of(why, "advice"); !next.empty())
        facts.add("Hint", next);
}

} // namespace

std::string render_gpus(const Screen& screen, const Json& list) {
    Table table({{"GPU"},
                 {"ADDRESS", Table::Align::Left, 2},
                 {"MODEL", Table::Align::Left, 1},
                 {"MEMORY", Table::Align::Right, 3},
                 {"NUMA", Table::Align::Right, 4},
                 {"HEALTH"},
                 {"KUBELET"},
                 {"POD", Table::Align::Left, 5}});
    for (const Json& gpu : list_of(list, "gpus"))
        add_rows(table, gpu);
    std::string text = table.empty() ? "" : table.render(screen);
    text += line(screen, "Withdrawn", text_of(list, "withdrawn"));
    for (const Json& resource : list_of(list, "resources"))
        for (const char* key : {"problem", "error"})
            text += line(screen, text_of(resource, "name"), text_of(resource, key));
    if (const std::string why = text_of(list, "health_unknown"); !why.empty())
        text += line(screen, "Health", why + ". " + text_of(list, "health_advice"));
    for (const Json& gpu : list_of(list, "gpus")) {
        text += line(screen, text_of(gpu, "uuid"), text_of(gpu, "problem"));
        add_reason(text, screen, gpu);
        for (const Json& instance : list_of(gpu, "instances"))
            add_reason(text, screen, instance);
    }
    return text;
}

std::string render_gpu(const Screen& screen, const Json& gpu, const std::string& withdrawn) {
    Facts facts;
    const auto add = [&](const char* label, const std::string& value) {
        if (!value.empty())
            facts.add(label, value);
    };
    facts.add("GPU", text_of(gpu, "uuid"));
    add("Model", text_of(gpu, "model"));
    add("Memory", memory_of(gpu));
    add("CUDA", text_of(gpu, "compute_capability"));
    add("Address", text_of(gpu, "address"));
    add("Device", "/dev/nvidia" + std::to_string(number_of(gpu, "minor")));
    add("NUMA", numa_of(gpu));
    facts.add("MIG", base::bool_or(gpu, "split", false) ? "on" : "off");
    for (const Json& one : list_of(gpu, "nvlinks"))
        facts.add("NVLink", std::to_string(number_of(one, "count")) + " to " + text_of(one, "gpu"));
    add("Problem", text_of(gpu, "problem"));
    add_device_facts(facts, screen, gpu);
    for (const Json& instance : list_of(gpu, "instances")) {
        facts.add("", "");
        facts.add("Instance", text_of(instance, "uuid"));
        add("Profile", text_of(instance, "profile"));
        facts.add("Index", std::to_string(number_of(instance, "index")) + ", GPU instance " +
                               std::to_string(number_of(instance, "gpu_instance")) + ", compute instance " +
                               std::to_string(number_of(instance, "compute_instance")));
        add_device_facts(facts, screen, instance);
    }
    return facts.render(screen) + line(screen, "Withdrawn", printable(withdrawn));
}

Serving serving_of(const Json& observed) {
    const Json& offer = base::member(observed, "offer");
    const Json& answer = base::member(observed, "answer");
    if (!offer.is_object())
        return {false, "gets no GPU: they are not offered", "gpuhostctl apply"};
    if (const std::string why = text_of(offer, "withdrawn"); !why.empty())
        return {false, "gets no GPU: " + why, "gpuhostctl apply"};
    if (!base::bool_or(observed, "running", false))
        return {false, "gets no GPU: gpuhost-devices does not run", "systemctl status gpuhost-devices"};
    if (text_of(answer, "id") != text_of(offer, "id"))
        return {false, "does not know of the last change", "journalctl -u gpuhost-devices"};
    std::vector<std::string> given;
    for (const Json& resource : list_of(answer, "resources")) {
        const std::string name = text_of(resource, "name");
        if (const std::string why = text_of(resource, "error"); !why.empty())
            return {false, "refused " + name + ": " + why, "journalctl -u kubelet -u gpuhost-devices"};
        if (!base::bool_or(resource, "connected", false))
            return {false, "is not connected for " + name, "systemctl status kubelet"};
        given.push_back(std::to_string(number_of(resource, "devices")) + " of " + name);
    }
    return {true, "gets " + base::join(given, ", "), ""};
}

Unhealthy unhealthy_of(const Json& observed) {
    std::vector<devices::DeviceHealth> bad =
        devices::health_from_json(base::member(base::member(observed, "answer"), "health"))
            .value_or(std::vector<devices::DeviceHealth>());
    std::erase_if(bad, [](const auto& one) { return one.state != devices::HealthState::unhealthy; });
    if (bad.empty())
        return {};
    const std::string first = printable(bad.front().uuid) + " is unhealthy: " + printable(bad.front().reason);
    return {bad.size() == 1 ? first : std::to_string(bad.size()) + " devices are unhealthy; " + first,
            printable(devices::advice(bad.front()))};
}

Unhealthy undetected_of(const Json& observed) {
    const std::string why = text_of(base::member(observed, "answer"), "blind");
    return why.empty() ? Unhealthy() : Unhealthy{"health is unknown: " + why, devices::blind_advice(why)};
}

void add_devices_lines(Facts& facts, const Screen& screen, const Json& observed) {
    if (!base::bool_or(observed, "serve", false))
        return;
    const Serving serving = serving_of(observed);
    facts.add("Kubelet", serving.ok ? serving.text : screen.paint(Style::Warn, serving.text));
    if (const Unhealthy unhealthy = unhealthy_of(observed); !unhealthy.text.empty())
        facts.add("GPUs", screen.paint(Style::Warn, unhealthy.text) + "; see: gpuhostctl gpu list");
    if (const Unhealthy undetected = undetected_of(observed); !undetected.text.empty()) {
        facts.add("GPUs", screen.paint(Style::Warn, undetected.text));
        facts.add("Hint", undetected.next);
    }
}

} // namespace gpuhost::ctl
