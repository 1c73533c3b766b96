// SPDX-License-Identifier: Apache-2.0
// What an API server tells of a Node, and what is made of it.
#include "daemon/cluster/kube/event_lines.hpp"
#include "daemon/cluster/node/node_change.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <vector>

using namespace gpuhost;

namespace {

struct Told {
    bool good = true;
    std::vector<base::Json> events;
};

Told tell(std::string_view text, std::size_t at_once) {
    Told told;
    cluster::EventLines lines([&](base::Json&& event) { told.events.push_back(std::move(event)); });
    for (std::size_t i = 0; told.good && i < text.size(); i += at_once)
        told.good = lines.take(text.substr(i, at_once));
    return told;
}

/// What is changed is not to be changed again, so that a host and a server come to an end.
void check(const base::Json& node) {
    const cluster::NodeDesired desired{{"gpuhost.io/not-ready"}, true, {std::string(cluster::driver_ready)}};
    cluster::Readiness readiness = cluster::readiness_without_daemon({base::Errc::Failed, "gone", ""});
    for (const char* status : {"True", "False"}) {
        readiness.conditions.front().status = status;
        readiness.gpus = status[0] == 'T' ? 1 : 0;
        auto change = cluster::change_node(node, readiness, desired, "2026-11-23T16:00:00Z");
        for (const cluster::NodePatch& patch : change.node)
            fuzz::require(!patch.body.is_null() && !patch.said.empty(), "what is changed is told");
        const auto joined = cluster::joined(std::move(change.status));
        if (joined.body.is_null())
            continue;
        base::Json after{{"metadata", base::member(node, "metadata")}};
        after["status"] = joined.body["status"];
        fuzz::require(cluster::conditions_of(after).size() == joined.said.size(), "each is one of ours");
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of(data, size);
    const Told whole = tell(text, std::max<std::size_t>(size, 1));
    const Told cut = tell(text, 3);
    fuzz::require(whole.good == cut.good && whole.events == cut.events,
                  "it does not matter where bytes are cut");
    for (const base::Json& event : whole.events)
        check(base::member(event, "object"));
    return 0;
}
