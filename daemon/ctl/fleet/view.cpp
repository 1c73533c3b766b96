// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/fleet/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/progress.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cluster/view.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace gpuhost::ctl {

using base::Json;

namespace {

constexpr std::size_t few = 3; ///< up to this many hosts with the same state have a row each

constexpr std::array<std::string_view, 6> titles{"NODE", "POOL", "STATE", "VERSION", "AGE", "REASON"};

struct Phase {
    std::string_view name;
    Style style;
};
/// The phases of hosts, in the order of display.
constexpr std::array phases{Phase{"failed", Style::Bad}, Phase{"upgrading", Style::Warn},
                            Phase{"waiting", Style::Plain}, Phase{"other", Style::Dim},
                            Phase{"done", Style::Good}};

std::size_t phase_of(const Json& node) {
    const std::string name = text_of(node, "phase");
    for (std::size_t i = 0; i < phases.size(); ++i)
        if (phases.at(i).name == name)
            return i;
    return phases.size() - 2; // an unknown phase of a newer gpuhost-cluster
}

/// Returns true if each row must fit one line of the terminal, because the number of lines is limited.
bool truncates(const Screen& screen, const FleetView& view) {
    return screen.terminal && view.rows > 0;
}

/// Truncates the text so that it fits the terminal after `before` columns.
std::string cut(const Screen& screen, const std::string& text, std::size_t before) {
    return screen.terminal ? elide(text, screen.columns - std::min(screen.columns, before)) : text;
}

/// A row of the table, for one or more hosts.
struct Row {
    std::size_t phase = 0;
    bool group = false;
    std::string node;
    std::string pool;
    std::string state;
    std::string version; ///< if different from the pool's version
    std::int64_t since = 0;
    std::string reason;
    std::size_t hosts = 1;
};

/// Returns the flags and the reason of a host. Omits flags that the state or the reason already contains.
std::string reason_of(const Json& node, std::size_t phase) {
    std::vector<std::string> parts;
    const std::string_view name = phases.at(phase).name;
    const std::string reason = text_of(node, "reason");
    if (!base::bool_or(node, "ready", true) && reason.find("not ready") == std::string::npos)
        parts.emplace_back("the node is not ready"); // Kubernetes' condition Ready, not one of gpuhost
    if (base::bool_or(node, "cordoned", false) && name != "upgrading")
        parts.emplace_back("cordoned");
    if (base::bool_or(node, "skipped", false) && reason.find("skip") == std::string::npos)
        parts.emplace_back("skipped");
    if (!reason.empty())
        parts.push_back(reason);
    return base::join(parts, "; ");
}

class Rows {
  public:
    Rows(const Json& document, bool all) : all_(all) {
        for (const Json& pool : list_of(document, "pools")) {
            wanted_[text_of(pool, "name")] = text_of(pool, "version");
            pools_ += number_of(pool, "hosts") > 0 ? 1 : 0;
        }
        for (const Json& node : list_of(document, "nodes"))
            add(node);
    }

    [[nodiscard]] std::vector<Row> take() {
        for (auto& [key, rows] : rows_)
            if (all_ || rows.size() <= few)
                std::move(rows.begin(), rows.end(), std::back_inserter(made_));
            else
                made_.push_back(together(std::move(rows)));
        std::stable_sort(made_.begin(), made_.end(), [](const Row& a, const Row& b) {
            return std::tie(a.phase, a.group, a.pool, a.node) < std::tie(b.phase, b.group, b.pool, b.node);
        });
        return std::move(made_);
    }

  private:
    using Key = std::tuple<std::size_t, std::string, std::string, std::string, std::string>;

    void add(const Json& node) {
        Row row;
        row.phase = phase_of(node);
        if (!all_ && phases.at(row.phase).name == "done")
            return;
        row.node = text_of(node, "name");
        const std::string pool = text_of(node, "pool");
        row.pool = pools_ > 1 ? pool : "";
        row.state = text_of(node, "state");
        if (row.state.empty())
            row.state = "-";
        row.version = text_of(node, "version");
        if (row.version == wanted_[pool])
            row.version.clear();
        row.since = base::int_or(node, "since", 0);
        row.reason = reason_of(node, row.phase);
        rows_[{row.phase, row.pool, row.state, row.version, row.reason}].push_back(std::move(row));
    }

    /// Returns one row for all of these hosts. The row has the age of the host that has been in this state
    /// longest.
    static Row together(std::vector<Row>&& rows) {
        Row row = *std::min_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
            return std::pair(a.since == 0, a.since) < std::pair(b.since == 0, b.since);
        });
        row.group = true;
        row.hosts = rows.size();
        row.node = std::to_string(rows.size()) + " nodes";
        return row;
    }

    bool all_;
    std::size_t pools_ = 0;
    std::map<std::string, std::string> wanted_; ///< pool → version
    std::map<Key, std::vector<Row>> rows_;
    std::vector<Row> made_;
};

std::string age(std::int64_t since, std::int64_t now) {
    return since <= 0 ? "" : short_span(static_cast<std::uint64_t>(std::max<std::int64_t>(now - since, 0)));
}

/// Returns the width of all columns before REASON, each with the gap after it.
std::size_t width_before_reason(const std::vector<Row>& rows, std::int64_t now, std::size_t most_node) {
    constexpr std::size_t gap = 2;
    std::array<std::size_t, 5> widths{};
    for (const Row& row : rows) {
        const std::array<std::size_t, 5> cells{std::min(most_node, text_width(row.node)),
                                               text_width(row.pool), text_width(row.state),
                                               text_width(row.version), age(row.since, now).size()};
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (cells.at(i) > 0)
                widths.at(i) = std::max({widths.at(i), cells.at(i), titles.at(i).size()});
    }
    std::size_t sum = 0;
    for (const std::size_t width : widths)
        sum += width > 0 ? width + gap : 0;
    return sum;
}

std::string render_rows(const Screen& screen, const std::vector<Row>& rows, const FleetView& view) {
    const std::int64_t now = view.now;
    const bool cuts = truncates(screen, view);
    const std::size_t most_node = cuts ? std::max<std::size_t>(screen.columns / 3, 12) : 256;
    const std::size_t before = width_before_reason(rows, now, most_node);
    const std::size_t left = screen.columns - std::min(screen.columns - 1, before);
    std::vector<Table::Column> columns;
    columns.reserve(titles.size());
    for (const std::string_view title : titles)
        columns.push_back({std::string(title), title == "AGE" ? Table::Align::Right : Table::Align::Left});
    Table table(std::move(columns));
    for (const Row& row : rows)
        table.add({elide(row.node, most_node),
                   row.pool,
                   {row.state, phases.at(row.phase).style},
                   row.version,
                   age(row.since, now),
                   cuts ? elide(row.reason, left) : row.reason});
    return table.render(screen);
}

constexpr std::size_t label = 9; ///< "Problem: "

void add_wrapped(const Screen& screen, Facts& facts, const std::string& name, const std::string& text,
                 Style style = Style::Plain) {
    if (!text.empty())
        facts.add(name, screen.paint(style, cut(screen, text, label)));
}

std::string counts_of(const Json& pool) {
    std::vector<std::string> parts;
    std::uint64_t rest =
        number_of(pool, "hosts") - std::min(number_of(pool, "hosts"), number_of(pool, "done"));
    for (const auto& [key, words] : {std::pair("failed", " failed"), std::pair("in_progress", " under way"),
                                     std::pair("pending", " waiting")})
        // A host that is done may have its grant for some seconds more.
        if (const std::uint64_t count = std::min(number_of(pool, key), rest); count > 0) {
            parts.push_back(std::to_string(count) + words);
            rest -= count;
        }
    if (rest > 0 && text_of(pool, "mode") != "on-request")
        parts.push_back(plural(rest, "other", "others"));
    return base::join(parts, ", ");
}

void add_pool(const Screen& screen, Facts& facts, const Json& pool) {
    const std::uint64_t hosts = number_of(pool, "hosts");
    const std::uint64_t done = number_of(pool, "done");
    const std::string version = text_of(pool, "version");
    const bool on_request = text_of(pool, "mode") == "on-request";
    add_wrapped(screen, facts, "Pool",
                text_of(pool, "name") + ", " + (version.empty() ? "no driver wanted" : "driver " + version) +
                    (on_request ? ", paused: autoUpgrade is off" : ""));
    if (hosts == 0)
        return facts.add("", "no hosts");
    const std::string share = std::to_string(done) + " of " + std::to_string(hosts) + " done";
    const std::string lead =
        bar(static_cast<double>(std::min(done, hosts)) / static_cast<double>(hosts)) + " ";
    add_wrapped(screen, facts, "", on_request ? plural(hosts, "host", "hosts") : lead + share,
                done == hosts ? Style::Good : Style::Plain);
    add_wrapped(screen, facts, "", counts_of(pool),
                number_of(pool, "failed") > 0 ? Style::Bad : Style::Plain);
    if (number_of(pool, "pending") > 0)
        add_wrapped(screen, facts, "", text_of(pool, "wait_reason"), Style::Warn);
}

void add_leader(const Screen& screen, Facts& facts, const Json& leader, std::int64_t now) {
    if (!leader.is_object()) {
        add_wrapped(screen, facts, "Leader", "none: hosts serve, but no upgrade begins", Style::Bad);
        return facts.add(
            "Hint",
            screen.terminal // one line, which must not be truncated
                ? "see WHO LEADS in gpuhost-cluster(8)"
                : "On a host that shall lead, set Candidate=yes in section [Cluster] of gpuhostd.conf "
                  "and run gpuhostctl reload. Then: " +
                      command_to_let_lead("HOST") + ". It leads within 15 seconds.");
    }
    std::string text = text_of(leader, "name");
    const bool silent = base::bool_or(leader, "silent", false);
    if (silent)
        text += ", silent for " +
                short_span(static_cast<std::uint64_t>(
                    std::max<std::int64_t>(now - base::int_or(leader, "renewed", now), 0))) +
                ": no upgrade begins";
    add_wrapped(screen, facts, "Leader", text, silent ? Style::Bad : Style::Plain);
}

std::string render_head(const Screen& screen, const Json& document, const FleetView& view) {
    Screen words = screen;
    words.terminal = truncates(screen, view); // otherwise Facts wraps the lines
    Facts facts;
    add_wrapped(words, facts, "Server", text_of(document, "server"));
    add_wrapped(words, facts, "Problem", printable(view.problem), Style::Bad);
    for (const std::string& problem : base::strings_or_empty(document, "policy_problems"))
        add_wrapped(words, facts, "Problem", "the policy: " + printable(problem), Style::Bad);
    add_leader(words, facts, base::member(document, "leader"), view.now);
    const Json& pools = list_of(document, "pools");
    const bool any = std::any_of(pools.begin(), pools.end(),
                                 [](const Json& pool) { return number_of(pool, "hosts") > 0; });
    for (const Json& pool : pools)
        if (number_of(pool, "hosts") > 0 || (!any && &pool == &pools.back()))
            add_pool(words, facts, pool);
    return facts.render(screen);
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Returns the text after the host's name in a line of fleet_changes(): "cordon-required 550.163.01: …".
std::string words_of(const Json& node) {
    const std::string state = text_of(node, "state");
    const std::string version = text_of(node, "version");
    const std::string reason = reason_of(node, phase_of(node));
    return (state.empty() ? "-" : state) + (version.empty() ? "" : " " + version) +
           (reason.empty() ? "" : ": " + reason);
}

/// Returns true if the change is a line of fleet_changes(). A new reason of a waiting host is not, because
/// the line of its pool has the reason.
bool is_news(const Json& before, const Json& after) {
    return text_of(before, "state") != text_of(after, "state") ||
           (text_of(after, "phase") != "waiting" && words_of(before) != words_of(after));
}

std::map<std::string, const Json*> by_name(const Json& list) {
    std::map<std::string, const Json*> named;
    for (const Json& one : list)
        named[text_of(one, "name")] = &one;
    return named;
}

std::string pool_words(const Json& pool) {
    const std::string counts = counts_of(pool);
    const std::string waits = number_of(pool, "pending") > 0 ? text_of(pool, "wait_reason") : "";
    return std::to_string(number_of(pool, "done")) + " of " + std::to_string(number_of(pool, "hosts")) +
           " done" + (counts.empty() ? "" : ", " + counts) + (waits.empty() ? "" : ": " + waits);
}

} // namespace

std::string render_fleet(const Screen& screen, const Json& document, const FleetView& view) {
    std::string text = render_head(screen, document, view);
    std::vector<Row> rows = Rows(document, view.all).take();
    constexpr std::size_t around = 3; // a blank line, the table header, and the number of omitted nodes
    const std::size_t used = lines_of(text) + around;
    std::size_t more = 0;
    if (view.rows != 0 && used + rows.size() > view.rows + 1) {
        const std::size_t shown = std::max<std::size_t>(view.rows - std::min(view.rows, used), 1);
        for (std::size_t i = shown; i < rows.size(); ++i)
            more += rows[i].hosts;
        rows.resize(std::min(rows.size(), shown));
    }
    if (!rows.empty())
        text += "\n" + render_rows(screen, rows, view);
    if (more > 0 && screen.legend)
        text += screen.paint(Style::Dim, "and " + plural(more, "node", "nodes") + " more" +
                                             (view.all ? "" : ", which --all shows")) +
                "\n";
    return text;
}

std::string fleet_changes(const Json& before, const Json& after) {
    std::string text;
    const auto old_nodes = by_name(list_of(before, "nodes"));
    const auto new_nodes = by_name(list_of(after, "nodes"));
    for (const auto& [name, node] : new_nodes)
        if (const auto old = old_nodes.find(name); old == old_nodes.end() || is_news(*old->second, *node))
            text += name + " " + words_of(*node) + "\n";
    for (const auto& [name, node] : old_nodes)
        if (new_nodes.count(name) == 0)
            text += name + " deleted\n";
    const auto old_pools = by_name(list_of(before, "pools"));
    for (const auto& [name, pool] : by_name(list_of(after, "pools")))
        if (const auto old = old_pools.find(name);
            old == old_pools.end() || pool_words(*old->second) != pool_words(*pool))
            text += "pool " + name + ": " + pool_words(*pool) + "\n";
    return text;
}

} // namespace gpuhost::ctl
