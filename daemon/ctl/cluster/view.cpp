// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cluster/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

std::string state_words(const Screen& screen, const std::string& state) {
    if (state == "connected")
        return screen.paint(Style::Good, "watched");
    if (state == "no-node")
        return screen.paint(Style::Warn, "not found: the kubelet creates it");
    if (state == "joining")
        return screen.paint(Style::Warn, "this host is joining");
    if (state == "connecting")
        return screen.paint(Style::Warn, "not seen yet");
    return screen.paint(Style::Bad, "unreachable");
}

Style style_of(const std::string& status) {
    if (status == "True")
        return Style::Good;
    return status == "False" ? Style::Bad : Style::Warn;
}

bool is_published(const Json& condition, const Json& published) {
    for (const Json& one : published)
        if (one == condition)
            return true;
    return false;
}

/// Adds a line with the state and the reason: "upgrade-required: waits for its turn".
void add_upgrade(const Screen& screen, Facts& facts, const Json& upgrade, const std::string& node) {
    const std::string state = text_of(upgrade, "state");
    const std::string reason = text_of(upgrade, "reason");
    if (state.empty() && reason.empty())
        return;
    const Style style = state == "upgrade-done"     ? Style::Good
                        : state == "upgrade-failed" ? Style::Bad
                                                    : Style::Warn;
    const std::string version = text_of(upgrade, "version");
    facts.add("Upgrade", (state.empty() ? "" : screen.paint(style, state)) +
                             (version.empty() ? "" : " " + version) +
                             (reason.empty() ? "" : (state.empty() ? "" : ": ") + reason));
    if (state == "upgrade-failed")
        facts.add("Hint", hint_to_upgrade_again(node));
}

void add_leader(Facts& facts, const Json& leader, const std::string& node) {
    if (!leader.is_object())
        return;
    const bool leads = base::bool_or(leader, "leads", false);
    const std::string name = text_of(leader, "leader");
    facts.add("Leader", leads          ? "this host"
                        : name.empty() ? "none yet: a candidate leads within 15 seconds"
                                       : name);
    if (!leads && name.empty())
        facts.add("Hint", "If none does, let this host lead: " + command_to_let_lead(node));
    for (const Json& pool : list_of(leader, "pools")) {
        const auto count = [&](const char* key) { return std::to_string(base::int_or(pool, key, 0)); };
        const bool paused = text_of(pool, "mode") == "on-request" && !text_of(pool, "version").empty();
        facts.add("Pool", text_of(pool, "name") + (paused ? ", paused (autoUpgrade is off): " : ": ") +
                              count("done") + " of " + count("hosts") + " hosts done, " +
                              count("in_progress") + " under way, " + count("pending") + " waiting, " +
                              count("failed") + " failed");
        if (const std::string waits = text_of(pool, "wait_reason"); !waits.empty())
            facts.add("", waits);
    }
}

} // namespace

std::string hint_to_upgrade_again(const std::string& node) {
    return "Remove the cause. Then let it try again: kubectl label node " + node +
           " nvidia.com/gpu-driver-upgrade-state=upgrade-required --overwrite";
}

std::string command_to_let_lead(const std::string& node) {
    return "kubectl create rolebinding -n gpuhost gpuhost-candidate-" + node +
           " --role=gpuhost-candidate --user=gpuhost:host:" + node;
}

std::string render_cluster(const Screen& screen, const Json& document) {
    Facts facts;
    facts.add("Server", text_of(document, "server"));
    facts.add("Node", text_of(document, "node") + ", " + state_words(screen, text_of(document, "state")));
    if (const Json& error = base::member(document, "error"); error.is_object()) {
        facts.add("Problem", screen.paint(Style::Bad, text_of(error, "message")));
        if (const std::string hint = text_of(error, "hint"); !hint.empty())
            facts.add("Hint", hint);
        if (const std::uint64_t again = number_of(document, "retry_at"); again > 0)
            facts.add("Retry", human_time(again * 1'000'000));
    }
    if (text_of(document, "state") == "joining") {
        const std::string request = text_of(document, "request");
        facts.add("Request", request.empty() ? "not sent yet" : request + " waits for approval");
    }
    const Json& published = list_of(document, "published");
    for (const Json& condition : list_of(document, "conditions")) {
        const std::string status = text_of(condition, "status");
        facts.add("Condition", text_of(condition, "type") + " " + screen.paint(style_of(status), status) +
                                   ", " + text_of(condition, "message"));
        if (!is_published(condition, published))
            facts.add("", screen.paint(Style::Warn, "not on the Node yet"));
    }
    const std::string node = text_of(document, "node");
    add_upgrade(screen, facts, base::member(document, "upgrade"), node);
    add_leader(facts, base::member(document, "leader"), node);
    if (const auto taints = base::strings_or_empty(document, "taints"); !taints.empty())
        facts.add("Taints", screen.paint(Style::Warn, printable(base::join(taints, " "))) +
                                " keep pods away until the host is ready");
    return facts.render(screen);
}

namespace {

constexpr const char* blocked = "No upgrade begins as long as there are problems.\n";

std::string value_text(const Json& value) {
    return printable(value.is_string() ? value.get<std::string>() : base::dump(value));
}

std::string render_fields(const Screen& screen, const Json& fields) {
    Table table({{"FIELD"}, {"VALUE"}, {"FROM"}});
    for (const Json& field : fields) {
        const std::string from = text_of(field, "source");
        table.add({text_of(field, "path"),
                   value_text(base::member(field, "value")),
                   {from, from == "default" ? Style::Dim : Style::Plain}});
    }
    return table.render(screen);
}

/// Renders the fields that have no effect, after a blank line.
std::string render_ignored(const Screen& screen, const Json& policy) {
    Table ignored({{"IGNORED"}, {"WHY"}, {"FROM"}});
    for (const Json& field : list_of(policy, "ignored"))
        ignored.add({text_of(field, "path"), text_of(field, "reason"), text_of(field, "source")});
    return ignored.empty() ? "" : "\n" + ignored.render(screen);
}

/// Returns true for lists, which would make the table too wide. render_pool() shows them.
bool is_shown_apart(const std::string& path) {
    return path == "rollout.windows" || path == "rollout.gates" || path == "rollout.waves" ||
           path == "rollout.pools";
}

/// Renders what differs from the common values, and the pool's waves, windows and gates.
std::string render_pool(const Screen& screen, const Json& pool) {
    const std::string name = text_of(pool, "name");
    const Json& selector = base::member(pool, "node_selector");
    const Json& window = base::member(pool, "window");
    Facts facts;
    facts.add("Pool", printable(name) + (selector.is_null() ? "" : ", Nodes with " + value_text(selector)));
    for (const Json& field : list_of(pool, "fields"))
        if (text_of(field, "path") == "rollout.waves")
            for (const Json& wave : list_of(field, "value"))
                facts.add("Wave", value_text(wave));
    if (window.is_object())
        facts.add("Window", text_of(window, "text"));
    for (const Json& gate : list_of(pool, "gates"))
        facts.add("Gate", text_of(gate, "name") + ": " + text_of(gate, "url") + " is asked for " +
                              printable(text_of(gate, "query")));
    Json own = Json::array();
    for (const Json& field : list_of(pool, "fields"))
        if (text_of(field, "source") == "pool '" + name + "'" && !is_shown_apart(text_of(field, "path")))
            own.push_back(field);
    return "\n" + facts.render(screen) + (own.empty() ? "" : render_fields(screen, own));
}

} // namespace

std::string render_cluster_policy(const Screen& screen, const Json& policy) {
    std::string text;
    for (const Json& problem : list_of(policy, "problems"))
        text +=
            fit(screen,
                screen.paint(Style::Bad,
                             "Problem: " + printable(problem.is_string() ? problem.get<std::string>() : "")) +
                    "\n");
    if (!text.empty())
        text += std::string(blocked) + "\n";
    return text + render_fields(screen, list_of(policy, "fields")) + render_ignored(screen, policy);
}

std::string render_policy_check(const Screen& screen, const Json& check, const std::string& file) {
    std::string text;
    for (const Json& problem : list_of(check, "problems"))
        text += printable(file + ":" + std::to_string(base::int_or(problem, "line", 1)) + ": " +
                          text_of(problem, "text")) +
                "\n";
    text += text.empty() ? printable(file) + ": no mistakes.\n" : blocked;
    for (const Json& object : list_of(check, "documents"))
        if (const std::string reason = text_of(object, "reason"); !reason.empty())
            text += printable("Not read: " + text_of(object, "name") + ": " + reason) + "\n";
    const Json& policy = base::member(check, "policy");
    Json given = Json::array();
    for (const Json& field : list_of(policy, "fields"))
        if (text_of(field, "source") != "default" && !is_shown_apart(text_of(field, "path")))
            given.push_back(field);
    text += "\n" + render_fields(screen, given) +
            "All other fields have their defaults: gpuhost-policy(5).\n" + render_ignored(screen, policy);
    for (const Json& pool : list_of(check, "pools"))
        text += render_pool(screen, pool);
    return text;
}

} // namespace gpuhost::ctl
