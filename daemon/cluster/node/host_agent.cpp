// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/host_agent.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/node/gpu_labels.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::cluster {

using base::Error;
using base::Json;
using base::member;
using base::string_or;

namespace {

constexpr Time first_wait{1'000};
constexpr Time most_wait{60'000};
/// The shortest time between heartbeats, even if another writer changes their times.
constexpr Time between_beats{60'000};
/// The time between two attempts to write labels of GPUs that the server refuses: the first, and the longest.
constexpr Time first_label_wait{30'000};
constexpr Time most_label_wait{600'000};
constexpr unsigned unauthorized = 401;
constexpr unsigned forbidden = 403;
constexpr unsigned too_many = 429;
constexpr unsigned conflict = 409;
constexpr unsigned most_conflicts = 3; ///< after so many conflicts in a row, the Node is listed again

/// Returns true if `node` is an older version than `than`. With several API servers, an older version may
/// arrive after a newer one. Versions are numbers that increase (KEP-5504).
bool is_older(const Json& node, const Json& than) {
    const auto version = [](const Json& object) {
        return base::parse_uint(string_or(member(object, "metadata"), "resourceVersion", ""));
    };
    const auto uid = [](const Json& object) { return string_or(member(object, "metadata"), "uid", ""); };
    const auto one = version(node);
    const auto other = version(than);
    return one && other && *one < *other && uid(node) == uid(than);
}

/// Returns the name of the annotation that a patch sets.
std::string annotation_of(const NodePatch& patch) {
    const Json& annotations = member(member(patch.body, "metadata"), "annotations");
    return annotations.is_object() && !annotations.empty() ? "annotation " + annotations.begin().key()
                                                           : "annotation";
}

/// Returns what a patch changes, for people.
std::string describe(const NodePatch& patch) {
    return patch.log_lines.empty() ? annotation_of(patch) : patch.log_lines.front();
}

Json to_json(const Condition& condition) {
    return {{"type", condition.type},
            {"status", condition.status},
            {"reason", condition.reason},
            {"message", condition.message}};
}

} // namespace

HostAgent::HostAgent(Api& api, std::string node, NodeDesired desired, LogLine log_line, NodeAuthor* author)
    : api_(api), name_(std::move(node)), desired_(std::move(desired)), log_(std::move(log_line)),
      author_(author), backoff_(first_wait, most_wait), label_backoff_(first_label_wait, most_label_wait),
      watch_(api, "/api/v1/nodes", name_selector(name_),
             {[this](Json&& listed) { on_node(std::move(listed)); },
              [this](const std::set<std::string>& names) {
                  if (names.count(name_) == 0)
                      lose_node();
              },
              [this](Json&&) { lose_node(); }, [this](const Error& trouble) { note(trouble); }}) {}

void HostAgent::set_readiness(Readiness readiness) {
    readiness_ = std::move(readiness);
    daemon_known_ = true;
    act();
}

void HostAgent::retry() {
    backoff_.reset();
    label_backoff_.reset();
    labels_at_.reset();
    due_ = Time(0);
    watch_.retry();
}

std::optional<Time> HostAgent::due() const {
    std::optional<Time> due = watch_.due();
    // While a write is in flight or waits for a retry, nothing else can be written.
    const auto& other = writes_ || due_ ? due_ : held_until_;
    if (other)
        due = due ? std::min(*due, *other) : *other;
    return due;
}

void HostAgent::turn() {
    watch_.turn();
    if (due_ && now() >= *due_)
        due_.reset();
    act();
}

void HostAgent::on_node(Json&& node) {
    if (object_name(node) != name_)
        return; // another Node: the server ignored the field selector
    if (!is_known_ || node_.is_null())
        log_("node '" + name_ + "' found");
    if (!is_known_ || watch_.is_listing() || !is_older(node, node_)) {
        node_ = std::move(node);
        conflicts_ = 0;
    }
    is_known_ = true;
    if (refusal_.message.empty())
        due_.reset(); // the Node has changed: end the wait after a conflict
    act();
}

void HostAgent::lose_node() {
    if (!is_known_ || !node_.is_null())
        log_("node '" + name_ + "' not found; the kubelet creates it");
    is_known_ = true;
    node_ = nullptr;
    if (author_ != nullptr)
        author_->no_node();
}

void HostAgent::act() {
    if (!writes_ && !due_ && daemon_known_ && !node_.is_null())
        write();
}

/// Writes the Node's status first, so that the reason for a taint is published before the taint.
void HostAgent::write() {
    held_until_.reset();
    held_.clear();
    NodeChange change = change_node(node_, readiness_, desired_, kube_time(base::realtime_us()));
    NodePatch patch = joined(not_held(std::move(change.status)));
    if (patch.body.is_null())
        patch.body = beat(std::move(change.heartbeat));
    Parts parts;
    parts.status = !patch.body.is_null();
    if (!parts.status) {
        patch = joined(not_held(std::move(change.node)));
        NodePatch other;
        if (author_ != nullptr)
            other = joined(not_held({author_->change(node_)}));
        parts.authored = !other.body.is_null();
        if (parts.authored)
            patch = joined({std::move(patch), std::move(other)});
    }
    if (patch.body.is_null()) {
        patch = label_patch(std::move(change.labels));
        parts.labels = !patch.body.is_null();
    }
    note_held();
    if (patch.body.is_null())
        refusal_ = {}; // a value that was refused is not to be written any more
    else
        send(std::move(patch), parts);
}

/// Returns the patch of the labels if it may be written now. It is written after all others, so that its
/// refusal stops none of them.
NodePatch HostAgent::label_patch(std::vector<NodePatch>&& labels) {
    if (labels.empty()) {
        label_refusal_ = {};
        label_backoff_.reset();
        labels_at_.reset();
        return {};
    }
    if (labels_at_ && now() < *labels_at_) {
        held_until_ = std::min(held_until_.value_or(*labels_at_), *labels_at_);
        return {};
    }
    return joined_labels(not_held(std::move(labels)));
}

/// Returns the patches that the damper allows now. Holds back each of the other patches separately.
std::vector<NodePatch> HostAgent::not_held(std::vector<NodePatch>&& patches) {
    std::vector<NodePatch> free;
    for (NodePatch& patch : patches) {
        const auto until = damper_.held_until(patch.body, now());
        if (!until) {
            free.push_back(std::move(patch));
            continue;
        }
        held_until_ = std::min(held_until_.value_or(*until), *until);
        if (held_.empty())
            held_ = describe(patch);
    }
    return free;
}

/// Returns the patch of the heartbeat; null if the last heartbeat was less than between_beats ago. Heartbeats
/// bypass the damper: each heartbeat repeats a value, although no other client has reverted the value.
Json HostAgent::beat(Json&& patch) {
    if (patch.is_null() || !beat_at_ || now() >= *beat_at_ + between_beats)
        return std::move(patch);
    const Time until = *beat_at_ + between_beats;
    held_until_ = std::min(held_until_.value_or(until), until);
    return nullptr;
}

void HostAgent::note_held() {
    if (std::exchange(hold_logged_, !held_.empty()) || held_.empty())
        return;
    log_("node '" + name_ +
         "': another client reverts this each time, so it is written less often: " + held_);
}

void HostAgent::send(NodePatch&& patch, Parts parts) {
    writes_ = true;
    (void)api_.patch("/api/v1/nodes/" + base::percent_encoded(name_) + (parts.status ? "/status" : "") +
                         "?fieldManager=gpuhost",
                     parts.status ? PatchType::Strategic : PatchType::Merge, patch.body,
                     [this, parts, patch, before = conditions_of(node_)](ApiAnswer&& answer) {
                         if (answer.done()) {
                             accepted(patch, parts, answer.body);
                             if (parts.status && condition_changed_)
                                 report_conditions(patch, before, answer.body);
                         } else if (parts.authored && answer.status != 0 && answer.status != conflict) {
                             author_->refused(node_, answer.error);
                         }
                         if (is_refused(answer, parts, patch))
                             return act();
                         written(std::move(answer));
                     });
}

void HostAgent::accepted(const NodePatch& patch, const Parts& parts, const Json& node) {
    if (parts.status && patch.log_lines.empty())
        beat_at_ = now();
    else
        damper_.wrote(patch.body, now());
    for (const std::string& line : patch.log_lines)
        log_("node '" + name_ + "': " + line);
    if (parts.authored)
        author_->written(node);
}

/// Returns true if the server has refused the labels of the GPUs: they wait, and other writes continue. A
/// policy answers with 403 or 422, a webhook with any status; not all of them name a label.
bool HostAgent::is_refused(const ApiAnswer& answer, const Parts& parts, const NodePatch& patch) {
    if (!parts.labels || answer.done() ||
        base::contains(std::array{0U, unauthorized, conflict, too_many}, answer.status))
        return false;
    writes_ = false;
    Error refusal = answer.error;
    refusal.message = describe(patch) + ": " + refusal.message;
    if (refusal.message != label_refusal_.message)
        log_("can't write node '" + name_ + "': " + refusal.message);
    label_refusal_ = std::move(refusal);
    if (answer.status == forbidden)
        label_refusal_.hint = "Apply the admission policies of this version: kubectl apply -f "
                              "/usr/share/gpuhost/kubernetes/";
    labels_at_ =
        now() + std::max<Time>(label_backoff_.next(), answer.retry_after.value_or(std::chrono::seconds(0)));
    return true;
}

/// `before`: the conditions when the patch was sent. The watch may have delivered the new ones since then.
void HostAgent::report_conditions(const NodePatch& patch, const std::vector<Condition>& before,
                                  const Json& node) {
    for (const Json& one : base::list_of(base::member(patch.body, "status"), "conditions")) {
        const Condition after{string_or(one, "type", ""), string_or(one, "status", ""),
                              string_or(one, "reason", ""), string_or(one, "message", "")};
        const auto former = std::find_if(before.begin(), before.end(),
                                         [&](const Condition& c) { return c.type == after.type; });
        if (!after.status.empty() && (former == before.end() || !(*former == after)))
            condition_changed_(node, former == before.end() ? nullptr : &*former, after);
    }
}

void HostAgent::written(ApiAnswer&& answer) {
    writes_ = false;
    if (answer.done()) {
        backoff_.reset();
        refusal_ = {};
        // If the watch has reported a deletion meanwhile, only the watch can report a new Node.
        if (!node_.is_null())
            on_node(std::move(answer.body));
        return;
    }
    if (answer.status != conflict) {
        if (answer.error.message != refusal_.message)
            log_("can't write node '" + name_ + "': " + answer.error.message);
        refusal_ = std::move(answer.error);
    }
    // If the server's store was restored from a backup, the watch may not deliver the version that conflicts:
    // list the Node.
    if (answer.status == conflict && ++conflicts_ == most_conflicts)
        watch_.list_anew();
    // Usually the watch delivers the conflicting version before this time, which ends the wait.
    due_ = now() + std::max<Time>(backoff_.next(), answer.retry_after.value_or(std::chrono::seconds(0)));
}

void HostAgent::note(const Error& trouble) {
    if (trouble.message != last_error_.message)
        log_(trouble.message.empty() ? "watching node '" + name_ + "' at " + api_.config().server
                                     : "can't watch node '" + name_ + "': " + trouble.message);
    last_error_ = trouble;
}

Json HostAgent::document() const {
    Json conditions = Json::array();
    for (const Condition& condition : readiness_.conditions)
        conditions.push_back(to_json(condition));
    if (readiness_.devices && readiness_.devices->health)
        conditions.push_back(to_json(*readiness_.devices->health));
    Json published = Json::array();
    for (const Condition& condition : conditions_of(node_))
        published.push_back(to_json(condition));
    Error error = last_error_.message.empty() ? refusal_ : last_error_;
    if (error.message.empty())
        error = label_refusal_;
    if (error.message.empty() && !held_.empty())
        error = {base::Errc::Refused,
                 "another client reverts what gpuhost-cluster writes to the node: " + held_,
                 "Find it with: kubectl get node " + name_ + " -o yaml --show-managed-fields"};
    return {{"server", api_.config().server},
            {"user", api_.config().user},
            {"node", name_},
            {"state", !last_error_.message.empty() ? "disconnected"
                      : !is_known_                 ? "connecting"
                      : node_.is_null()            ? "no-node"
                                                   : "connected"},
            {"error", error.message.empty() ? Json() : base::to_json(error)},
            {"conditions", std::move(conditions)},
            {"published", std::move(published)},
            {"taints", taints_of(node_, desired_)}};
}

} // namespace gpuhost::cluster
