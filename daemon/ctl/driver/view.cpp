// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Json;

namespace {

/// Returns true if `selection` ({"version", "userland", "modules"}) selects this module set.
bool means(const Json& selection, const Json& version, const Json& set) {
    return text_of(selection, "version") == text_of(version, "version") &&
           text_of(selection, "modules") == text_of(set, "digest");
}

/// Returns how a kernel uses this module set: "loaded, selected", "previous", "superseded", "available".
std::string role(const Json& list, const Json& version, const Json& set, std::string_view loaded) {
    const std::string kernel = text_of(set, "kernel");
    const Json& selection = base::member(base::member(list, "selected"), kernel);
    const bool selected = means(selection, version, set);
    const bool selected_elsewhere = !selected && text_of(selection, "version") == text_of(version, "version");
    std::vector<std::string> roles;
    // If the store has several sets of the loaded version, the selected one counts as loaded.
    if (kernel == text_of(list, "kernel") && loaded == text_of(version, "version") && !selected_elsewhere)
        roles.emplace_back("loaded");
    if (selected)
        roles.emplace_back("selected");
    if (means(base::member(selection, "previous"), version, set))
        roles.emplace_back("previous");
    if (base::bool_or(set, "superseded", false))
        roles.emplace_back("superseded");
    return roles.empty() ? "available" : base::join(roles, ", ");
}

bool is_idle(std::string_view role) {
    return role == "available" || role == "superseded";
}

/// Returns the role of a version without modules, which shows whether they can still be built.
std::string role_without_modules(const Json& version) {
    return list_of(version, "sources").empty() ? "no modules" : "not built";
}

std::string userland_of(const Json& version) {
    const Json& userland = list_of(version, "userland");
    return userland.empty() ? "none" : human_bytes(number_of(userland[0], "bytes"));
}

std::vector<std::string> module_names(const Json& set) {
    std::vector<std::string> names;
    for (const Json& module : list_of(set, "modules"))
        names.push_back(text_of(module, "name"));
    return names;
}

/// Returns "signed by " and all signers of a set's modules. Empty if a module is not signed.
std::string signers_of(const Json& set) {
    std::vector<std::string> signers;
    for (const Json& module : list_of(set, "modules")) {
        std::string signer = printable(text_of(module, "signer"));
        if (signer.empty())
            return {};
        if (std::find(signers.begin(), signers.end(), signer) == signers.end())
            signers.push_back(std::move(signer));
    }
    return signers.empty() ? "" : "signed by " + base::join(signers, ", ");
}

void add_version(Table& table, const Json& list, const Json& version, std::string_view loaded) {
    const Json& sets = list_of(version, "modules");
    std::string name = text_of(version, "version");
    std::string userland = userland_of(version);
    if (sets.empty())
        table.add({name, "", "", "", userland, {role_without_modules(version), Style::Warn}});
    for (const Json& set : sets) { // only the first row shows the version's own columns
        const std::string what = role(list, version, set, loaded);
        const Style style = base::starts_with(what, "loaded") ? Style::Good : Style::Plain;
        table.add({std::exchange(name, ""),
                   text_of(set, "kernel"),
                   text_of(set, "flavour"),
                   std::to_string(list_of(set, "modules").size()),
                   std::exchange(userland, ""),
                   {what, style}});
    }
}

void add_userland(Facts& facts, const Json& userland) {
    std::string what = plural(number_of(userland, "files"), "file", "files") + ", " +
                       human_bytes(number_of(userland, "bytes"));
    what += base::bool_or(userland, "nvml", false) ? ", with NVML" : ", without NVML";
    const auto firmware = base::strings_or_empty(userland, "firmware");
    what += firmware.empty() ? ", no firmware" : ", firmware " + printable(base::join(firmware, " "));
    facts.add("Userland", what);
    facts.add("", text_of(userland, "path"));
}

std::string loaded_line(const Screen& screen, const Json& driver) {
    const Json& loaded = list_of(driver, "loaded");
    std::vector<std::string> names;
    for (const Json& module : loaded)
        names.push_back(text_of(module, "name"));
    if (names.empty())
        return screen.paint(Style::Warn, "none loaded");
    if (std::find(names.begin(), names.end(), "nvidia") == names.end())
        return screen.paint(Style::Warn, "no NVIDIA driver") + ", loaded: " + base::join(names, " ");
    const std::string version = text_of(driver, "loaded_version");
    return screen.paint(Style::Bold, version.empty() ? "unknown version" : version) +
           " loaded: " + base::join(names, " ");
}

bool is_in_store(const Json& driver, std::string_view version) {
    const Json& versions = list_of(base::member(driver, "store"), "versions");
    return std::any_of(versions.begin(), versions.end(),
                       [&](const Json& one) { return text_of(one, "version") == version; });
}

std::string selected_line(const Json& driver) {
    const Json& selected = base::member(driver, "selected");
    const std::string owner = text_of(driver, "configured");
    if (!selected.is_object() && (owner == "off" || owner == "preinstalled"))
        return "none, gpuhostd does not manage the driver (Version=" + owner + ")";
    if (!selected.is_object())
        return "none for this kernel";
    const std::string previous = text_of(base::member(selected, "previous"), "version");
    if (previous.empty())
        return text_of(selected, "version");
    return text_of(selected, "version") + ", previous " + previous +
           (is_in_store(driver, previous) ? "" : " (no longer in the store)");
}

std::string gpus_line(const Screen& screen, const Json& driver) {
    const Json& gpus = list_of(driver, "gpus");
    std::size_t bound = 0;
    std::vector<std::string> unbound;
    for (const Json& gpu : gpus) {
        const std::string by = text_of(gpu, "driver");
        if (by == "nvidia")
            ++bound;
        else
            unbound.push_back(text_of(gpu, "address") + (by.empty() ? "" : " (" + by + ")"));
    }
    if (gpus.empty())
        return "none found";
    if (unbound.empty())
        return std::to_string(bound) + ", " + (bound == 1 ? "bound" : "all bound") + " to nvidia";
    return std::to_string(bound) + " of " + std::to_string(gpus.size()) + " bound to nvidia; " +
           screen.paint(Style::Warn, "not bound: " + base::join(unbound, " ")) +
           (bound == 0 ? "" : " (why: gpuhostctl doctor)");
}

} // namespace

std::string render_drivers(const Screen& screen, const Json& list, std::string_view loaded) {
    Table table({{"VERSION"},
                 {"KERNEL"},
                 {"FLAVOUR"},
                 {"MODULES", Table::Align::Right, 1},
                 {"USERLAND", Table::Align::Right, 2},
                 {"STATE"}});
    for (const Json& version : list_of(list, "versions"))
        add_version(table, list, version, loaded);
    return table.empty() ? "" : table.render(screen);
}

std::string render_driver(const Screen& screen, const Json& list, const Json& version,
                          std::string_view loaded) {
    Facts facts;
    facts.add("Driver", screen.paint(Style::Bold, text_of(version, "version")));
    for (const Json& userland : list_of(version, "userland"))
        add_userland(facts, userland);
    for (const Json& set : list_of(version, "modules")) {
        const std::string what = role(list, version, set, loaded);
        facts.add("Modules", "for " + text_of(set, "kernel") + ", " + text_of(set, "flavour") + ": " +
                                 screen.paint(is_idle(what) ? Style::Plain : Style::Good, what));
        facts.add("", base::join(module_names(set), " "));
        if (const std::string signers = signers_of(set); !signers.empty())
            facts.add("", signers);
        facts.add("", text_of(set, "path"));
    }
    for (const Json& source : list_of(version, "sources")) {
        facts.add("Source", text_of(source, "flavour") + ", can be built for installed kernel headers");
        facts.add("", text_of(source, "path"));
    }
    return facts.render(screen);
}

void add_driver_lines(Facts& facts, const Screen& screen, const Json& driver) {
    facts.add("Driver", loaded_line(screen, driver));
    facts.add("Selected", selected_line(driver));
    facts.add("GPUs", gpus_line(screen, driver));
    const auto units = base::strings_or_empty(driver, "units");
    if (!units.empty())
        facts.add("Clients", printable(base::join(units, " ")));
    if (text_of(driver, "autoload") == "blocked")
        facts.add("Autoload", screen.paint(Style::Warn, "blocked") + ", GPU modules cannot be loaded");
}

} // namespace gpuhost::ctl
