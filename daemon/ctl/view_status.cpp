// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/document.hpp"
#include "daemon/ctl/table.hpp"
#include "daemon/ctl/text.hpp"
#include "daemon/ctl/view.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Json;

namespace {

Style style_of_host(std::string_view state) {
    if (state == "idle")
        return Style::Good;
    return state == "degraded" || state == "reboot-required" ? Style::Bad : Style::Bold;
}

std::string host_line(const Screen& screen, const Json& host) {
    const std::string state = text_of(host, "state");
    const bool ready = base::bool_or(host, "ready", false);
    return screen.paint(style_of_host(state), state) + ", " +
           (ready ? "ready" : screen.paint(Style::Warn, "not ready: runtimes and kubelet wait")) +
           ", kernel " + text_of(host, "kernel");
}

std::string loaded_line(const Screen& screen, const Json& driver) {
    const Json& loaded = list_of(driver, "loaded");
    std::vector<std::string> names;
    for (const Json& module : loaded)
        names.push_back(text_of(module, "name"));
    if (names.empty())
        return screen.paint(Style::Warn, "none loaded");
    if (std::find(names.begin(), names.end(), "nvidia") == names.end())
        return screen.paint(Style::Warn, "none of NVIDIA's") + ", loaded: " + base::join(names, " ");
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
    if (!selected.is_object())
        return "none for this kernel";
    const std::string previous = text_of(base::member(selected, "previous"), "version");
    if (previous.empty())
        return text_of(selected, "version");
    return text_of(selected, "version") + ", before it " + previous +
           (is_in_store(driver, previous) ? "" : ", which is no longer in the store");
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
           screen.paint(Style::Warn, "without: " + base::join(unbound, " "));
}

void add_driver(Facts& facts, const Screen& screen, const Json& driver) {
    facts.add("Driver", loaded_line(screen, driver));
    facts.add("Selected", selected_line(driver));
    facts.add("GPUs", gpus_line(screen, driver));
    const auto units = base::strings_or_empty(driver, "units");
    if (!units.empty())
        facts.add("Clients", printable(base::join(units, " ")));
    if (text_of(driver, "door") == "shut")
        facts.add("Door", screen.paint(Style::Warn, "shut") + ", loading of GPU modules is blocked");
}

/// What one component would change, why, and what stands in the way.
void add_pending(Facts& facts, const Screen& screen, const Json& plan) {
    facts.add("Pending", screen.paint(Style::Warn, text_of(plan, "title")));
    for (const std::string& reason : base::strings_or_empty(plan, "reasons"))
        facts.add("", printable(reason));
    for (const Json& problem : list_of(plan, "problems")) {
        facts.add("Problem", screen.paint(Style::Bad, text_of(problem, "text")));
        if (const std::string hint = text_of(problem, "hint"); !hint.empty())
            facts.add("Hint", hint);
    }
}

bool add_all_pending(Facts& facts, const Screen& screen, const Json& components) {
    bool any = false;
    for (const auto& component : components.items()) {
        const Json& plan = base::member(component.value(), "plan");
        if (list_of(plan, "steps").empty() && list_of(plan, "problems").empty())
            continue;
        add_pending(facts, screen, plan);
        any = true;
    }
    return any;
}

void add_last(Facts& facts, const Screen& screen, const Json& last, std::uint64_t now_us) {
    const std::string state = text_of(last, "state");
    const std::uint64_t ended = number_of(last, "ended_us");
    const std::string what =
        "operation " + std::to_string(base::int_or(last, "id", 0)) + ", " + text_of(last, "title") + ": ";
    if (ended == 0) {
        const int percent = static_cast<int>(progress_of(last) * 100);
        facts.add("Now", what + painted_state(screen, state) + ", " + std::to_string(percent) + "%");
        return;
    }
    facts.add("Last", what + painted_state(screen, state) + ", " + human_ago(ended, now_us));
    const Json& problems = list_of(last, "problems");
    const std::string cause = text_of(base::member(last, "error"), "message");
    for (const Json& problem : problems)
        facts.add("", text_of(problem, "text"));
    if (problems.empty() && !cause.empty() && cause != state)
        facts.add("", cause);
}

} // namespace

std::string loaded_version(const Json& host) {
    const Json& driver = base::member(base::member(host, "components"), "driver");
    return base::string_or(base::member(driver, "observed"), "loaded_version", "");
}

std::string render_status(const Screen& screen, const Json& host, const Json& last, std::uint64_t now_us) {
    Facts facts;
    const Json& components = base::member(host, "components");
    facts.add("Host", host_line(screen, host));
    for (const auto& component : components.items())
        if (const std::string why = text_of(base::member(component.value(), "error"), "message");
            !why.empty())
            facts.add("Unseen", printable(component.key()) + ": " + screen.paint(Style::Bad, why));
    if (const Json& driver = base::member(base::member(components, "driver"), "observed"); driver.is_object())
        add_driver(facts, screen, driver);
    // Half way through an operation the host is never as wanted; what counts then is how far that is.
    const bool busy = text_of(host, "state") == "busy";
    if (!busy && !add_all_pending(facts, screen, components))
        facts.add("Pending", "nothing");
    if (last.is_object())
        add_last(facts, screen, last, now_us);
    return facts.render();
}

} // namespace gpuhost::ctl
