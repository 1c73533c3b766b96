// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/cluster/view.hpp"
#include "daemon/ctl/gpu/view.hpp"
#include "daemon/ctl/runtime/view_runtime_change.hpp"
#include "daemon/ctl/toolkit/view.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Json;
using client::Verdict;

namespace {

struct ComponentLines {
    std::string_view component;
    void (*add)(Facts& facts, const Screen& screen, const Json& observed);
};
/// The components with lines in 'status', in the order of display.
constexpr std::array component_lines{
    ComponentLines{"driver", add_driver_lines},   ComponentLines{"cdi", add_cdi_lines},
    ComponentLines{"devices", add_devices_lines}, ComponentLines{"toolkit", add_toolkit_lines},
    ComponentLines{"runtime", add_runtime_lines}, ComponentLines{"images", add_image_lines}};

Style style_of_host(std::string_view state) {
    if (state == "idle")
        return Style::Good;
    return state == "degraded" || state == "reboot-required" ? Style::Bad : Style::Bold;
}

std::string host_line(const Screen& screen, const Json& host) {
    const std::string state = text_of(host, "state");
    const bool ready = base::bool_or(host, "ready", false);
    return screen.paint(style_of_host(state), state) +
           (ready ? "" : screen.paint(Style::Warn, ", container runtimes and the kubelet wait")) +
           ", kernel " + text_of(host, "kernel");
}

/// Shows a problem unless the verdict shows it.
void add_problem(Facts& facts, const Screen& screen, const char* label, const Json& problem,
                 const Verdict& shown) {
    const std::string hint = text_of(problem, "hint");
    if (text_of(problem, "text") == shown.text && hint == shown.hint)
        return;
    facts.add(label, screen.paint(Style::Bad, text_of(problem, "text")));
    if (!hint.empty())
        facts.add("Hint", hint);
}

/// Shows what one component would change, why, and its problems.
void add_pending(Facts& facts, const Screen& screen, const Json& plan, const Verdict& shown) {
    facts.add("Pending", screen.paint(Style::Warn, text_of(plan, "title")));
    for (const std::string& reason : base::strings_or_empty(plan, "reasons"))
        facts.add("", printable(reason));
    for (const Json& problem : list_of(plan, "problems"))
        add_problem(facts, screen, "Problem", problem, shown);
}

/// Returns true if a component has changes or problems.
bool add_pending_components(Facts& facts, const Screen& screen, const Json& components,
                            const Verdict& shown) {
    bool any = false;
    bool can_be_done = false;
    for (const auto& component : components.items()) {
        const Json& plan = base::member(component.value(), "plan");
        if (const Json& undecided = base::member(plan, "undecided"); undecided.is_object()) {
            add_problem(facts, screen, "Pending", undecided, shown);
            any = true;
        }
        if (list_of(plan, "steps").empty() && list_of(plan, "problems").empty())
            continue;
        add_pending(facts, screen, plan, shown);
        any = true;
        can_be_done = can_be_done || list_of(plan, "problems").empty();
    }
    if (can_be_done && shown.hint.find("gpuhostctl apply.") == std::string::npos)
        facts.add("Hint", "Apply it: gpuhostctl apply.");
    return any;
}

/// Shows an upgrade by gpuhost-cluster that waits, is under way or has failed. `offered`: an administrator
/// requests it.
void add_upgrade_line(Facts& facts, const Json& upgrade, bool offered) {
    const std::string state = text_of(upgrade, "state");
    const std::string to = " to " + text_of(upgrade, "version");
    const std::string reason = text_of(upgrade, "reason");
    const std::string why = reason.empty() ? "" : ": " + reason;
    if (state == "upgrade-required") {
        if (!offered)
            facts.add("Cluster", "waits to upgrade" + to + why);
        return;
    }
    if (state != "upgrade-failed") {
        if (!state.empty() && state != "upgrade-done")
            facts.add("Cluster", "upgrades" + to + " (" + state + ")" + why);
        return;
    }
    facts.add("Cluster", "the upgrade" + to + " failed" + why);
    facts.add("Hint", offered ? "Remove the cause. Then request it again: gpuhostctl apply."
                              : hint_to_upgrade_again(text_of(upgrade, "node")));
}

} // namespace

void add_host_lines(Facts& facts, const Screen& screen, const Json& host) {
    facts.add("Host", host_line(screen, host));
    for (const auto& component : base::member(host, "components").items())
        if (const std::string why = text_of(base::member(component.value(), "error"), "message");
            !why.empty())
            facts.add("Unknown", printable(component.key()) + ": " + screen.paint(Style::Bad, why));
}

void add_config_lines(Facts& facts, const Screen& screen, const Json& host) {
    if (const std::size_t problems = list_of(host, "config_problems").size(); problems > 0)
        facts.add("Config", screen.paint(Style::Warn, plural(problems, "problem", "problems")) +
                                ", see: gpuhostctl config check");
}

void add_pending_lines(Facts& facts, const Screen& screen, const Json& host, const Verdict& shown) {
    // During an operation the host always differs from its configuration, so the pending changes are not
    // shown.
    const bool busy = text_of(host, "state") == "busy";
    if (!busy && !add_pending_components(facts, screen, base::member(host, "components"), shown))
        facts.add("Pending", "nothing");
}

void add_cluster_lines(Facts& facts, const Json& host) {
    const Json& cluster = base::member(host, "cluster");
    const Json& desired = base::member(cluster, "desired");
    const std::string toolkit = text_of(desired, "toolkit");
    const std::string driver = text_of(desired, "driver");
    const std::string requested = text_of(cluster, "upgrade_requested");
    if (!toolkit.empty())
        facts.add("Cluster", "selects toolkit " + toolkit);
    if (!requested.empty())
        return facts.add("Cluster", "upgrade of this host requested: driver " + requested);
    if (!driver.empty())
        facts.add("Cluster",
                  "selects driver " + driver + " for this host; 'gpuhostctl apply' requests the upgrade");
    if (const Json& upgrade = base::member(cluster, "upgrade"); upgrade.is_object())
        add_upgrade_line(facts, upgrade, !driver.empty());
}

void add_last_lines(Facts& facts, const Screen& screen, const Json& last, std::uint64_t now_us) {
    const std::string state = text_of(last, "state");
    const std::uint64_t ended = number_of(last, "ended_us");
    const std::string what =
        "operation " + std::to_string(base::int_or(last, "id", 0)) + ", " + text_of(last, "title") + ": ";
    if (ended == 0) {
        const int percent = static_cast<int>(progress_of(last) * 100);
        facts.add("Now", what + painted_state(screen, state) + ", " + std::to_string(percent) + "%");
        if (const std::string doing = text_of(last, "text"); !doing.empty())
            facts.add("", doing);
        return;
    }
    facts.add("Last", what + painted_state(screen, state) + ", " + human_ago(ended, now_us));
    const Json& problems = list_of(last, "problems");
    const std::string cause = text_of(base::member(last, "error"), "message");
    for (const Json& problem : problems)
        facts.add("", text_of(problem, "text"));
    if (problems.empty() && !cause.empty() && cause != state)
        facts.add("", cause);
    if (state == "failed" || state == "rolled-back" || state == "incomplete" || state == "reboot-required")
        facts.add("Hint", "gpuhostctl operation show " + std::to_string(number_of(last, "id")));
}

std::string render_status(const Screen& screen, const Json& host, const Json& last, std::uint64_t now_us,
                          const Verdict& shown) {
    Facts facts;
    add_host_lines(facts, screen, host);
    for (const auto& [component, add] : component_lines)
        if (const Json& observed =
                base::member(base::member(base::member(host, "components"), component), "observed");
            observed.is_object())
            add(facts, screen, observed);
    add_config_lines(facts, screen, host);
    add_cluster_lines(facts, host);
    add_pending_lines(facts, screen, host, shown);
    if (last.is_object())
        add_last_lines(facts, screen, last, now_us);
    return facts.render(screen);
}

} // namespace gpuhost::ctl
