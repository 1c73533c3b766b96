// SPDX-License-Identifier: Apache-2.0
// Parses an API server's events of a Node, and computes the changes of the Node.
#include "daemon/cluster/kube/event_lines.hpp"
#include "daemon/cluster/node/node_change.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <vector>

using namespace gpuhost;

namespace {

struct Parsed {
    bool good = true;
    std::vector<base::Json> events;
};

Parsed parse_events(std::string_view text, std::size_t at_once) {
    Parsed parsed;
    cluster::EventLines lines([&](base::Json&& event) { parsed.events.push_back(std::move(event)); });
    for (std::size_t i = 0; parsed.good && i < text.size(); i += at_once)
        parsed.good = lines.feed(text.substr(i, at_once));
    return parsed;
}

/// Changes are ours only and have a description; so a host and a server reach a stable state.
void check(const base::Json& node) {
    const cluster::NodeDesired desired{{"gpuhost.io/not-ready"}, true, {std::string(cluster::driver_ready)}};
    cluster::Readiness readiness = cluster::readiness_without_daemon({base::Errc::Failed, "gone", ""});
    for (const char* status : {"True", "False"}) {
        readiness.conditions.front().status = status;
        readiness.gpus = status[0] == 'T' ? 1 : 0;
        auto change = cluster::change_node(node, readiness, desired, "2026-11-23T16:00:00Z");
        for (const cluster::NodePatch& patch : change.node)
            fuzz::require(!patch.body.is_null() && !patch.log_lines.empty(), "each change has a description");
        const auto joined = cluster::joined(std::move(change.status));
        if (joined.body.is_null())
            continue;
        base::Json after{{"metadata", base::member(node, "metadata")}};
        after["status"] = joined.body["status"];
        fuzz::require(cluster::conditions_of(after).size() == joined.log_lines.size(),
                      "each changed condition is one of ours");
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of(data, size);
    const Parsed whole = parse_events(text, std::max<std::size_t>(size, 1));
    const Parsed cut = parse_events(text, 3);
    fuzz::require(whole.good == cut.good && whole.events == cut.events,
                  "the result does not depend on the size of chunks");
    for (const base::Json& event : whole.events)
        check(base::member(event, "object"));
    return 0;
}
