// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/verdict.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhost::client {
namespace {

using base::Json;
using Found = std::optional<Verdict>;

std::string text_of(const Json& object, std::string_view key) {
    return base::string_or(object, key, "");
}

Verdict not_ok(std::string text, std::string hint) {
    return {false, std::move(text), std::move(hint)};
}

bool is_running(const Json& operation) {
    return operation.is_object() && base::int_or(operation, "ended_us", 0) == 0;
}

/// Returns true if the selected driver is not loaded, and another was selected before.
bool can_go_back(const Json& component) {
    const Json& observed = base::member(component, "observed");
    const Json& selected = base::member(observed, "selected");
    return base::member(selected, "previous").is_object() &&
           text_of(observed, "loaded_version") != text_of(selected, "version");
}

/// Returns how to make the pending changes of a component. If the last operation tried it in vain, its cause
/// comes first. If the selected driver does not load, the way back to the one before comes last.
std::string hint_to_apply(const Json& component, const Json& operation) {
    const std::string state = text_of(operation, "state");
    const bool has_failed =
        state == "refused" || state == "failed" || state == "rolled-back" || state == "incomplete";
    if (!operation.is_object() || text_of(operation, "kind") != "apply" || !has_failed)
        return "Apply it: gpuhostctl apply.";
    return "See why it failed: gpuhostctl operation show " +
           std::to_string(base::int_or(operation, "id", 0)) + ". Then apply it: gpuhostctl apply." +
           (can_go_back(component) ? " Or go back: gpuhostctl driver rollback." : "");
}

Found daemon_verdict(const Json& host, const Json& operation) {
    const std::string state = text_of(host, "state");
    if (state == "reboot-required")
        return not_ok("this host requires a reboot", "Reboot it: systemctl reboot.");
    // A dry run has the plan of its operation, and so its changes_host.
    if (is_running(operation) && base::bool_or(operation, "changes_host", true) &&
        !base::bool_or(operation, "dry_run", false)) {
        const std::string id = std::to_string(base::int_or(operation, "id", 0));
        return not_ok("operation " + id + " changes this host: " + text_of(operation, "title"),
                      "Wait for it: gpuhostctl operation wait " + id + ".");
    }
    if (!base::bool_or(host, "ready", false) || state == "starting")
        return not_ok("gpuhostd is still starting", "Wait for it: gpuhostctl wait-ready.");
    return std::nullopt;
}

Found component_verdict(std::string_view name, const Json& component, const Json& operation) {
    if (const Json& error = base::member(component, "error"); error.is_object())
        return not_ok(std::string(name) + ": " + text_of(error, "message"),
                      "See why: journalctl --unit=gpuhostd.");
    const Json& plan = base::member(component, "plan");
    for (const Json& problem : base::list_of(plan, "problems"))
        return not_ok(text_of(problem, "text"), text_of(problem, "hint"));
    if (const Json& undecided = base::member(plan, "undecided"); undecided.is_object())
        return not_ok(text_of(undecided, "text"), text_of(undecided, "hint"));
    if (!base::list_of(plan, "steps").empty())
        return not_ok("pending: " + text_of(plan, "title"), hint_to_apply(component, operation));
    return std::nullopt;
}

Found components_verdict(const Json& components, const Json& operation) {
    for (const auto& component : components.items())
        if (Found found = component_verdict(component.key(), component.value(), operation))
            return found;
    return std::nullopt;
}

Found config_verdict(const Json& host) {
    const auto problems = base::strings_or_empty(host, "config_problems");
    if (problems.empty())
        return std::nullopt;
    return not_ok("configuration: " + problems.front(), "Check it: gpuhostctl config check.");
}

std::string count(std::size_t gpus) {
    return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
}

Verdict gpus_verdict(const Json& driver) {
    std::size_t served = 0;
    std::vector<std::string> unserved; // PCI addresses; omits GPUs with another driver, such as vfio-pci
    for (const Json& gpu : base::list_of(driver, "gpus")) {
        const std::string by = text_of(gpu, "driver");
        if (by == "nvidia")
            ++served;
        else if (by.empty() || by == "nouveau")
            unserved.push_back(text_of(gpu, "address"));
    }
    if (text_of(driver, "configured") == "off")
        return {true, "gpuhostd does not manage the driver (Version=off)", {}};
    const std::string version = text_of(driver, "loaded_version");
    const std::string who = version.empty() ? "no driver is loaded" : "driver " + version;
    if (!unserved.empty())
        return not_ok(who + (version.empty() ? " for " : " does not serve ") + count(unserved.size()) +
                          " of " + std::to_string(served + unserved.size()) + ": " +
                          base::join(unserved, ", "),
                      "Find the reason: gpuhostctl doctor.");
    if (served == 0)
        return {true, "this host has no NVIDIA GPU for a driver", {}};
    return {true, who + " serves " + count(served), {}};
}

} // namespace

Verdict verdict_of(const Json& host, const Json& operation) {
    if (Found found = daemon_verdict(host, operation))
        return *std::move(found);
    const Json& components = base::member(host, "components");
    const Json& driver = base::member(components, "driver");
    // The driver is first, because it is the main purpose of the host. A mistake in the configuration may be
    // the cause of what the other components report.
    if (Found found = component_verdict("driver", driver, operation))
        return *std::move(found);
    Verdict gpus = gpus_verdict(base::member(driver, "observed"));
    if (!gpus.ok)
        return gpus;
    if (Found found = config_verdict(host))
        return *std::move(found);
    if (Found found = components_verdict(components, operation))
        return *std::move(found);
    return gpus;
}

} // namespace gpuhost::client
