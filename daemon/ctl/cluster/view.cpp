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
void add_upgrade(const Screen& screen, Facts& facts, const Json& upgrade) {
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
}

void add_leader(Facts& facts, const Json& leader) {
    if (!leader.is_object())
        return;
    const bool leads = base::bool_or(leader, "leads", false);
    const std::string name = text_of(leader, "leader");
    facts.add("Leader", leads ? "this host" : name.empty() ? "none yet" : name);
    for (const Json& pool : list_of(leader, "pools")) {
        const auto count = [&](const char* key) { return std::to_string(base::int_or(pool, key, 0)); };
        facts.add("Pool", text_of(pool, "name") + ": " + count("done") + " of " + count("hosts") +
                              " hosts done, " + count("in_progress") + " under way, " + count("pending") +
                              " waiting, " + count("failed") + " failed");
        if (const std::string waits = text_of(pool, "wait_reason"); !waits.empty())
            facts.add("", waits);
    }
}

} // namespace

std::string render_cluster(const Screen& screen, const Json& document) {
    Facts facts;
    facts.add("Server", text_of(document, "server"));
    facts.add("Node", text_of(document, "node") + ", " + state_words(screen, text_of(document, "state")));
    if (const Json& error = base::member(document, "error"); error.is_object()) {
        facts.add("Problem", screen.paint(Style::Bad, text_of(error, "message")));
        if (const std::string hint = text_of(error, "hint"); !hint.empty())
            facts.add("Hint", hint);
    }
    if (const std::string request = text_of(document, "request"); !request.empty())
        facts.add("Request", request + " waits for approval");
    const Json& published = list_of(document, "published");
    for (const Json& condition : list_of(document, "conditions")) {
        const std::string status = text_of(condition, "status");
        facts.add("Condition", text_of(condition, "type") + " " + screen.paint(style_of(status), status) +
                                   ", " + text_of(condition, "message"));
        if (!is_published(condition, published))
            facts.add("", screen.paint(Style::Warn, "not on the Node yet"));
    }
    add_upgrade(screen, facts, base::member(document, "upgrade"));
    add_leader(facts, base::member(document, "leader"));
    if (const auto taints = base::strings_or_empty(document, "taints"); !taints.empty())
        facts.add("Taints", screen.paint(Style::Warn, printable(base::join(taints, " "))) +
                                " keep pods away until the host is ready");
    return facts.render(screen);
}

std::string render_cluster_policy(const Screen& screen, const Json& policy) {
    std::string text;
    for (const Json& problem : list_of(policy, "problems"))
        text +=
            fit(screen,
                screen.paint(Style::Bad,
                             "Problem: " + printable(problem.is_string() ? problem.get<std::string>() : "")) +
                    "\n");
    if (!text.empty())
        text += "No upgrade begins as long as there are problems.\n\n";
    Table table({{"FIELD"}, {"VALUE"}, {"FROM"}});
    for (const Json& field : list_of(policy, "fields")) {
        const std::string from = text_of(field, "source");
        const Json& value = base::member(field, "value");
        const std::string shown = value.is_string() ? value.get<std::string>() : base::dump(value);
        table.add({text_of(field, "path"),
                   printable(shown),
                   {from, from == "default" ? Style::Dim : Style::Plain}});
    }
    text += table.render(screen);
    Table ignored({{"IGNORED"}, {"WHY"}, {"FROM"}});
    for (const Json& field : list_of(policy, "ignored"))
        ignored.add({text_of(field, "path"), text_of(field, "reason"), text_of(field, "source")});
    if (!ignored.empty())
        text += "\n" + ignored.render(screen);
    return text;
}

} // namespace gpuhost::ctl
