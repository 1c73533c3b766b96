// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cdi/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/cli/wrap.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

std::vector<std::string> texts_of(const Json& object, std::string_view key) {
    std::vector<std::string> texts;
    for (const std::string& text : base::strings_or_empty(object, key))
        texts.push_back(printable(text));
    return texts;
}

Table::Cell state_of(const Json& device) {
    const std::string state = text_of(device, "state");
    if (state == "conflict")
        return {"conflict with " + text_of(device, "other"), Style::Bad};
    if (state == "shadowed")
        return {"shadowed by " + text_of(device, "other"), Style::Warn};
    if (base::bool_or(device, "stale", false))
        return {"stale", Style::Bad};
    return {base::bool_or(device, "ours", false) ? "gpuhost's" : ""};
}

/// Returns a line "PATH: PROBLEM" for each problem; nothing for valid files.
std::string wrong_lines(const Screen& screen, const Json& document) {
    std::string text;
    for (const Json& file : list_of(document, "files"))
        for (const char* key : {"problems", "stale"})
            for (const std::string& reason : texts_of(file, key))
                text +=
                    fit(screen, screen.paint(Style::Bad, text_of(file, "path") + ":") + " " + reason + "\n");
    return text;
}

std::string node_text(const Json& node) {
    const std::string host = text_of(node, "hostPath");
    const std::string permissions = text_of(node, "permissions");
    return text_of(node, "path") + (host.empty() ? "" : " from " + host) +
           (permissions.empty() ? "" : " (" + permissions + ")");
}

std::string mount_text(const Json& mount) {
    const std::string host = text_of(mount, "hostPath");
    const std::string container = text_of(mount, "containerPath");
    return host == container ? host : container + " from " + host;
}

std::string hook_text(const Json& hook) {
    std::vector<std::string> words = texts_of(hook, "args");
    if (!words.empty())
        words.erase(words.begin()); // removes the hook's name, which the path contains
    words.insert(words.begin(), text_of(hook, "path"));
    return base::join(words, " ");
}

template <class Text>
void add_all(Facts& facts, const std::string& label, const Json& list, Text text) {
    bool first = true;
    for (const Json& element : list) {
        facts.add(first ? label : "", text(element));
        first = false;
    }
}

} // namespace

std::string render_cdi_devices(const Screen& screen, const Json& list) {
    Table table({{"DEVICE"}, {"FILE", Table::Align::Left, 2}, {"DRIVER", Table::Align::Left, 1}, {"STATE"}});
    for (const Json& device : list_of(list, "devices"))
        table.add(
            {text_of(device, "name"), text_of(device, "file"), text_of(device, "driver"), state_of(device)});
    return (table.empty() ? "" : table.render(screen)) + wrong_lines(screen, list);
}

std::string render_cdi_device(const Screen& screen, const Json& device) {
    Facts facts;
    facts.add("Device", screen.paint(Style::Bold, text_of(device, "name")));
    facts.add("File", text_of(device, "file"));
    if (const std::string driver = text_of(device, "driver"); !driver.empty())
        facts.add("Driver", driver);
    if (text_of(device, "state") == "conflict")
        facts.add("Problem", screen.paint(Style::Bad,
                                          text_of(device, "other") + " has it too, so no container gets it"));
    for (const std::string& reason : texts_of(device, "stale"))
        facts.add("Problem", screen.paint(Style::Bad, reason));
    const Json& edits = base::member(device, "edits");
    const auto plain = [](const Json& value) {
        return printable(value.is_string() ? value.get<std::string>() : value.dump());
    };
    add_all(facts, "Node", list_of(edits, "deviceNodes"), node_text);
    add_all(facts, "Mount", list_of(edits, "mounts"), mount_text);
    add_all(facts, "Variable", list_of(edits, "env"), plain);
    add_all(facts, "Group", list_of(edits, "additionalGids"), plain);
    add_all(facts, "Hook", list_of(edits, "hooks"), hook_text);
    return facts.render(screen);
}

std::string render_cdi_files(const Screen& screen, const Json& checked) {
    if (list_of(checked, "files").empty())
        return "No CDI specification found.\n";
    std::string text;
    for (const Json& file : list_of(checked, "files"))
        if (list_of(file, "problems").empty() && list_of(file, "stale").empty())
            text += fit(screen, text_of(file, "path") + ": " + screen.paint(Style::Good, "good") + ", " +
                                    plural(number_of(file, "devices"), "device", "devices") + " of " +
                                    text_of(file, "kind") + "\n");
    return text + wrong_lines(screen, checked);
}

namespace {

/// Returns at most 12 devices: a host may have thousands of IMEX channels.
std::string some_of(std::vector<std::string> devices) {
    constexpr std::size_t shown = 12;
    if (devices.size() <= shown)
        return base::join(devices, " ");
    const std::size_t more = devices.size() - shown;
    devices.resize(shown);
    return base::join(devices, " ") + " and " + std::to_string(more) + " more ('gpuhostctl cdi list')";
}

} // namespace

void add_cdi_lines(Facts& facts, const Screen& screen, const Json& cdi) {
    const Json& record = base::member(cdi, "record");
    const auto devices = base::strings_or_empty(record, "devices");
    const std::string problem = text_of(record, "problem");
    if (!base::bool_or(cdi, "enable", true))
        facts.add("Containers", "another program describes GPUs to them (Manage=no in section [CDI])");
    else if (const std::string driver = text_of(base::member(cdi, "inputs"), "driver");
             !devices.empty() && driver.empty())
        facts.add("Containers", "get no GPU until a driver is loaded");
    else if (!devices.empty())
        facts.add("Containers", "get " + printable(some_of(devices)) + " of driver " +
                                    printable(text_of(base::member(record, "inputs"), "driver")));
    if (!problem.empty())
        facts.add("Containers",
                  screen.paint(Style::Warn, "do not get all of the driver") + ": " + printable(problem));
    for (const std::string& path : base::strings_or_empty(cdi, "changed"))
        facts.add("", printable(path) + " was changed by another program");
    for (const auto& [name, one] : base::member(cdi, "validations").items())
        if (text_of(one, "file") == "other")
            facts.add("Operands", "/run/nvidia/validations/" + printable(name) +
                                      " belongs to another program and is kept");
}

} // namespace gpuhost::ctl
