// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/view.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

std::string or_none(const std::string& version) {
    return version.empty() ? "none" : version;
}

std::string outcome(const Json& change) {
    const std::string state = text_of(change, "state");
    return base::bool_or(change, "waits_for_reboot", false) ? "waits for a reboot" : state;
}

/// Returns the requester in a word or two; 'operation show' has the details.
std::string who(const Json& subject) {
    const std::string origin = text_of(subject, "origin");
    if (origin == "daemon")
        return "gpuhostd";
    if (origin == "cluster")
        return "the cluster";
    if (origin == "unit")
        return text_of(subject, "unit");
    const std::string user = text_of(subject, "user");
    const std::string login = text_of(subject, "login_user");
    const std::string name = user.empty() ? "uid " + std::to_string(number_of(subject, "uid")) : user;
    return login.empty() || login == user ? name : login + " as " + name;
}

} // namespace

std::string render_history(const Screen& screen, const Json& history, std::uint64_t now_us) {
    const Json& changes = list_of(history, "changes");
    if (changes.empty())
        return "";
    Table table({{"ID", Table::Align::Right},
                 {"BEGAN"},
                 {"AGO", Table::Align::Left, 2},
                 {"FROM"},
                 {"TO"},
                 {"KERNEL", Table::Align::Left, 1},
                 {"TOOK", Table::Align::Right, 3},
                 {"OUTCOME"},
                 {"ASKED BY"},
                 {"CAUSE", Table::Align::Left, 0, true}});
    for (const Json& change : changes) {
        const std::uint64_t began = number_of(change, "began_us");
        const std::uint64_t ended = number_of(change, "ended_us");
        table.add({std::to_string(number_of(change, "operation")),
                   screen.terminal ? base::local_text(began / 1'000'000) : human_time(began),
                   human_ago(began, now_us),
                   or_none(text_of(change, "from")),
                   or_none(text_of(change, "to")),
                   text_of(change, "kernel"),
                   ended > began ? human_span(ended - began) : "",
                   {outcome(change), style_of_state(text_of(change, "state"))},
                   who(base::member(change, "subject")),
                   text_of(change, "cause")});
    }
    return table.render(screen);
}

} // namespace gpuhost::ctl
