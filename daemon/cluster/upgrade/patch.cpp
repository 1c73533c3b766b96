// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/patch.hpp"

#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/kube/shortened.hpp"

#include <utility>

namespace gpuhost::cluster {

using base::Json;
using base::member;
using base::string_or;

namespace {

constexpr std::size_t most_event = 1000; ///< bytes of an event's text; the server accepts at most 1024

class PatchBuilder {
  public:
    explicit PatchBuilder(const Json& node) : metadata_(member(node, "metadata")) {}

    /// Sets a label or annotation; an empty `value` removes it.
    bool label(const std::string& name, std::string_view value) { return set("labels", name, value); }
    bool annotation(const std::string& name, std::string_view value) {
        return set("annotations", name, value);
    }

    Json body = Json::object();

  private:
    bool set(const char* kind, const std::string& name, std::string_view value) {
        const Json& there = member(metadata_, kind);
        const auto found = there.is_object() ? there.find(name) : there.end();
        const bool is_there = there.is_object() && found != there.end();
        if (is_there ? found->is_string() && found->get_ref<const std::string&>() == value && !value.empty()
                     : value.empty())
            return false;
        body["metadata"][kind][name] = value.empty() ? Json() : Json(value);
        return true;
    }

    const Json& metadata_;
};

} // namespace

UpgradePatch upgrade_patch(const Json& node, const UpgradeDecision& move) {
    const UpgradeNode before = upgrade_node(node);
    PatchBuilder change(node);
    UpgradePatch patch;
    bool more = false;
    const auto annotate = [&](const char* name, const std::string& value) {
        if (!change.annotation(name, value))
            return;
        more = true;
        const std::string what = std::string(name) + "=" + (value.empty() ? "null" : value);
        patch.events.push_back({false, "Successfully updated node annotation to " + what});
        patch.failures.push_back("Failed to update node annotation " + what + ": ");
    };
    if (change.label(key::state, state_name(move.state))) {
        more = true;
        patch.node.log_lines.push_back(move.state == UpgradeState::Unknown
                                           ? "label " + std::string(key::state) + " is removed"
                                           : "upgrade state " + std::string(state_name(move.state)) +
                                                 (move.reason.empty() ? "" : ": " + move.reason));
        if (move.state != UpgradeState::Unknown)
            patch.failures.push_back("Failed to update node state label to " +
                                     std::string(state_name(move.state)) + ", ");
    }
    const bool empty = move.record == UpgradeRecord();
    if (empty || !(move.record == before.record))
        more |= change.annotation(key::record, empty ? "" : base::dump(to_json(move.record)));
    for (const auto& [name, value] : move.labels)
        more |= change.label(name, value);
    if (before.requested && move.record.requested)
        annotate(key::requested, "");
    if (before.was_unschedulable != move.was_unschedulable)
        annotate(key::was_unschedulable, move.was_unschedulable ? "true" : "");
    const bool waits = move.state == UpgradeState::WaitForJobsRequired;
    const bool validates = move.state == UpgradeState::ValidationRequired;
    if (!waits || move.wait_began)
        annotate(key::wait_began, waits ? std::to_string(*move.wait_began) : "");
    if (!validates || move.validation_began)
        annotate(key::validation_began, validates ? std::to_string(*move.validation_began) : "");
    if (move.cordon && *move.cordon != before.unschedulable) {
        change.body["spec"]["unschedulable"] = *move.cordon ? Json(true) : Json();
        patch.node.log_lines.emplace_back(*move.cordon ? "cordoned" : "uncordoned");
        if (*move.cordon)
            patch.failures.emplace_back("Failed to cordon the node, ");
        more = true;
    }
    const bool reason = change.annotation(key::reason, move.reason);
    patch.only_reason = reason && !more;
    if (patch.only_reason && !move.reason.empty())
        patch.node.log_lines.push_back(move.reason);
    if (more || reason) {
        change.body["metadata"]["resourceVersion"] =
            string_or(member(node, "metadata"), "resourceVersion", "");
        patch.node.body = std::move(change.body);
    }
    return patch;
}

Json upgrade_event(const UpgradeNode& node, const UpgradeEvent& event, std::uint64_t now_us) {
    return node_event(node.name, node.uid, "GPUDriverUpgrade", event, now_us);
}

Json node_event(const std::string& name, const std::string& uid, const std::string& reason,
                const UpgradeEvent& event, std::uint64_t now_us) {
    static unsigned counter = 0; // makes the names of two events in one microsecond differ
    const std::string time = kube_time(now_us);
    return {{"apiVersion", "v1"},
            {"kind", "Event"},
            {"metadata",
             {{"name", name.substr(0, 200) + "." + std::to_string(now_us) + "-" + std::to_string(++counter)},
              {"namespace", "default"}}},
            {"involvedObject", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", name}, {"uid", uid}}},
            {"reason", reason},
            {"message", shortened(event.message, most_event)},
            {"type", event.warning ? "Warning" : "Normal"},
            {"source", {{"component", "gpuhost-cluster"}, {"host", name}}},
            {"firstTimestamp", time},
            {"lastTimestamp", time},
            {"count", 1}};
}

} // namespace gpuhost::cluster
