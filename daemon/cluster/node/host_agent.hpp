// SPDX-License-Identifier: Apache-2.0
// Publishes the state of this host on its Node. Watches only that Node and writes no other.
#pragma once

#include "daemon/cluster/kube/watch.hpp"
#include "daemon/cluster/node/node_change.hpp"
#include "daemon/cluster/node/write_damper.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::cluster {

/// Another author of changes to this host's Node. HostAgent sends the changes.
class NodeAuthor {
  public:
    virtual ~NodeAuthor() = default;
    /// Returns a merge patch with the resourceVersion of `node`, or an empty patch. Called when no write is
    /// in flight and HostAgent has no change of the Node's status.
    [[nodiscard]] virtual NodePatch change(const base::Json& node) = 0;
    /// Called when the server has accepted the patch that change() returned last.
    virtual void written(const base::Json& node) = 0;
    /// Called when the server has refused the patch that change() returned last. A conflict (409) is not a
    /// refusal.
    virtual void refused(const base::Json& node, const base::Error& why) = 0;
    virtual void no_node() = 0; ///< the Node does not exist now
};

class HostAgent {
  public:
    using LogLine = std::function<void(const std::string& line)>;
    /// Receives the Node and a condition that the server has accepted. `before` is its former value on the
    /// Node; null: it is new.
    using ConditionChanged =
        std::function<void(const base::Json& node, const Condition* before, const Condition& after)>;

    /// `node` is the name of the host's Node. `api` and `author` must outlive the agent; `author` may be
    /// null.
    HostAgent(Api& api, std::string node, NodeDesired desired, LogLine log_line,
              NodeAuthor* author = nullptr);

    void set_readiness(Readiness readiness);
    void on_condition(ConditionChanged handler) { condition_changed_ = std::move(handler); }
    /// Retries at once. Called when the credentials have changed.
    void retry();

    [[nodiscard]] std::optional<Time> due() const; ///< when to call turn()
    void turn();

    /// Returns the parts of `gpuhostctl cluster status --json` about this host's Node; org.gpuhost1(5)
    /// describes them.
    [[nodiscard]] base::Json document() const;

  private:
    void on_node(base::Json&& node);
    void lose_node();
    void write();
    [[nodiscard]] std::vector<NodePatch> not_held(std::vector<NodePatch>&& patches);
    [[nodiscard]] base::Json beat(base::Json&& patch);
    void note_held();
    /// The parts of the Node that a patch changes.
    struct Parts {
        bool status = false;
        bool authored = false; ///< includes the change of author_
        bool labels = false;   ///< only the labels of the GPUs
    };
    void send(NodePatch&& patch, Parts parts);
    void accepted(const NodePatch& patch, const Parts& parts, const base::Json& node);
    [[nodiscard]] NodePatch label_patch(std::vector<NodePatch>&& labels);
    [[nodiscard]] bool is_refused(const ApiAnswer& answer, const Parts& parts, const NodePatch& patch);
    void report_conditions(const NodePatch& patch, const std::vector<Condition>& before,
                           const base::Json& node);
    void written(ApiAnswer&& answer);
    void note(const base::Error& trouble);
    void act();

    Api& api_;
    std::string name_;
    NodeDesired desired_;
    LogLine log_;
    NodeAuthor* author_;
    Backoff backoff_;
    base::Json node_; ///< the Node as the server has it; null: absent or not known yet
    bool is_known_ = false;
    Readiness readiness_;
    bool daemon_known_ = false; ///< the daemon has answered, or is known to be down
    bool writes_ = false;       ///< a write is in flight
    unsigned conflicts_ = 0;    ///< conflicts (409) in a row for the same version of the Node
    std::optional<Time> due_;
    base::Error last_error_; ///< error of the connection
    base::Error refusal_;    ///< error of the last write
    /// Why the server refused the labels of the GPUs, and when they are written again. Other writes continue.
    base::Error label_refusal_;
    std::optional<Time> labels_at_;
    Backoff label_backoff_;
    ConditionChanged condition_changed_;
    WriteDamper damper_;
    std::optional<Time> beat_at_;    ///< time of the last heartbeat
    std::optional<Time> held_until_; ///< when the first of the delayed patches may be written
    std::string held_;               ///< description of a delayed patch; empty: none
    bool hold_logged_ = false;
    Watch watch_; ///< declared last: its handlers use the other members
};

} // namespace gpuhost::cluster
