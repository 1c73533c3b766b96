// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/runtime/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

Table::Cell cdi_of(const Json& runtime) {
    const std::string state = text_of(runtime, "cdi");
    if (state == "on")
        return {state, Style::Good};
    return {state, state == "unknown" ? Style::Plain : Style::Warn};
}

std::string state_of(const Json& runtime) {
    if (base::bool_or(runtime, "running", false))
        return "running";
    return text_of(runtime, "kind") == "podman" ? "runs when called" : "not running";
}

std::string file_text(const Screen& screen, const Json& file) {
    std::string text = text_of(file, "path");
    if (const std::string problem = text_of(file, "problem"); !problem.empty())
        return text + " " + screen.paint(Style::Bad, "(not read)");
    if (!base::bool_or(file, "exists", true))
        return text + " (not found: defaults)";
    const std::uint64_t version = number_of(file, "version");
    return version == 0 ? text : text + " (version " + std::to_string(version) + ")";
}

std::string handler_text(const Json& handler, const std::string& default_name) {
    const std::string name = text_of(handler, "name");
    std::string text = name;
    for (const char* key : {"type", "binary"})
        if (const std::string value = text_of(handler, key); !value.empty())
            text += ", " + value;
    if (base::bool_or(handler, "systemd_cgroup", false))
        text += ", cgroups by systemd";
    return name == default_name ? text + " (default)" : text;
}

void add_some(Facts& facts, const std::string& label, const std::string& value) {
    if (!value.empty())
        facts.add(label, value);
}

} // namespace

std::string render_runtimes(const Screen& screen, const Json& list) {
    if (list_of(list, "runtimes").empty())
        return "";
    Table table({{"NAME"}, {"KIND"}, {"VERSION"}, {"STATE"}, {"CDI"}, {"CONFIGURATION"}});
    std::string verdicts;
    for (const Json& runtime : list_of(list, "runtimes")) {
        const std::string name = text_of(runtime, "name");
        table.add({name, text_of(runtime, "kind"), text_of(runtime, "version"), state_of(runtime),
                   cdi_of(runtime), text_of(runtime, "config")});
        verdicts += name + ": " + text_of(runtime, "verdict") + "\n";
    }
    return table.render(screen) + fit(screen, verdicts);
}

std::string render_runtime(const Screen& screen, const Json& runtime) {
    Facts facts;
    const std::uint64_t pid = number_of(runtime, "pid");
    facts.add("Runtime",
              screen.paint(Style::Bold, text_of(runtime, "name")) + " (" + text_of(runtime, "kind") + ")");
    add_some(facts, "Version", text_of(runtime, "version"));
    facts.add("State", state_of(runtime) + (pid == 0 ? "" : ", process " + std::to_string(pid)));
    const std::string file = text_of(runtime, "unit_file");
    add_some(facts, "Unit", text_of(runtime, "unit") + (file.empty() ? "" : " (" + file + ")"));
    add_some(facts, "Executable", text_of(runtime, "executable"));
    add_some(facts, "Socket", text_of(runtime, "socket"));
    std::string label = "Reads";
    for (const Json& one : list_of(runtime, "files")) {
        facts.add(label, file_text(screen, one));
        label.clear();
    }
    label = "Runtimes";
    for (const Json& handler : list_of(runtime, "runtimes")) {
        facts.add(label, handler_text(handler, text_of(runtime, "default_runtime")));
        label.clear();
    }
    const std::string directories =
        printable(base::join(base::strings_or_empty(runtime, "cdi_spec_dirs"), " "));
    facts.add("CDI", text_of(runtime, "cdi") + (directories.empty() ? "" : ", from " + directories));
    for (const std::string& problem : base::strings_or_empty(runtime, "problems"))
        facts.add("Problem", screen.paint(Style::Bad, printable(problem)));
    facts.add("Verdict", text_of(runtime, "verdict"));
    return facts.render(screen);
}

} // namespace gpuhost::ctl
