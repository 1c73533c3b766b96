// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/gpu/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

Table::Cell state_of(const Json& device) {
    const std::string state = text_of(device, "state");
    const std::string resource = text_of(device, "resource");
    if (state == "connected")
        return {resource, Style::Good};
    if (state == "waiting")
        return {resource + ", kubelet not connected", Style::Warn};
    return {state == "withdrawn" ? "withdrawn" : "not offered", Style::Warn};
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
               numa_of(gpu), std::move(state)});
    for (const Json& one : instances)
        table.add({"  " + text_of(one, "uuid"), "", text_of(one, "profile"), "", "", state_of(one)});
}

std::string line(const Screen& screen, const std::string& what, const std::string& why) {
    return why.empty() ? "" : fit(screen, screen.paint(Style::Warn, what + ":") + " " + why + "\n");
}

} // namespace

std::string render_gpus(const Screen& screen, const Json& list) {
    Table table({{"GPU"},
                 {"ADDRESS", Table::Align::Left, 2},
                 {"MODEL", Table::Align::Left, 1},
                 {"MEMORY", Table::Align::Right, 3},
                 {"NUMA", Table::Align::Right},
                 {"KUBELET"}});
    for (const Json& gpu : list_of(list, "gpus"))
        add_rows(table, gpu);
    std::string text = table.empty() ? "" : table.render(screen);
    text += line(screen, "Withdrawn", text_of(list, "withdrawn"));
    for (const Json& resource : list_of(list, "resources"))
        for (const char* key : {"problem", "error"})
            text += line(screen, text_of(resource, "name"), text_of(resource, key));
    for (const Json& gpu : list_of(list, "gpus"))
        text += line(screen, text_of(gpu, "uuid"), text_of(gpu, "problem"));
    return text;
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

void add_devices_lines(Facts& facts, const Screen& screen, const Json& observed) {
    if (!base::bool_or(observed, "serve", false))
        return;
    const Serving serving = serving_of(observed);
    facts.add("Kubelet", serving.ok ? serving.text : screen.paint(Style::Warn, serving.text));
}

} // namespace gpuhost::ctl
