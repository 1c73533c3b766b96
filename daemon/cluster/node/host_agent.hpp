// SPDX-License-Identifier: Apache-2.0
// This host in the cluster: says on its Node what is true of it. It watches that one Node and writes no other.
#pragma once

#include "daemon/cluster/kube/watch.hpp"
#include "daemon/cluster/node/node_change.hpp"
#include "daemon/cluster/node/write_damper.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::cluster {

/// Somebody else who has something to say on the Node.
class NodeAuthor {
  public:
    virtual ~NodeAuthor() = default;
    /// A merge patch that names the version of `node`, or none. Asked whenever the Node could be written, and nothing of
    /// before is on its way.
    [[nodiscard]] virtual NodePatch change(const base::Json& node) = 0;
    virtual void written(const base::Json& node) = 0; ///< the server has taken the last one
    /// It has refused the last one; a conflict is not a refusal.
    virtual void refused(const base::Json& node, const base::Error& why) = 0;
    virtual void no_node() = 0; ///< there is none, for now
};

class HostAgent {
  public:
    using Say = std::function<void(const std::string& line)>;

    /// `node` is the name of the host's Node. `api` outlives it, and `author`, which may be null.
    HostAgent(Api& api, std::string node, NodeWish wish, Say say, NodeAuthor* author = nullptr);

    void set_readiness(Readiness readiness);
    /// The credentials are others: what waits is tried at once.
    void retry();

    [[nodiscard]] std::optional<Time> due() const; ///< when turn() has something to do
    void turn();

    /// Of `gpuhostctl cluster status --json`; org.gpuhost1(5).
    [[nodiscard]] base::Json document() const;

  private:
    void take_node(base::Json&& node);
    void lose_node();
    void write();
    [[nodiscard]] NodePatch not_held(std::vector<NodePatch>&& patches);
    [[nodiscard]] base::Json beat(base::Json&& patch);
    void note_held();
    void send(NodePatch&& patch, bool status, bool authored);
    void written(ApiAnswer&& answer);
    void note(const base::Error& trouble);
    void act();

    Api& api_;
    std::string name_;
    NodeWish wish_;
    Say say_;
    NodeAuthor* author_;
    Backoff backoff_;
    base::Json node_; ///< as the server has it; null: it has none, or that is not known yet
    bool is_known_ = false;
    Readiness readiness_;
    bool is_told_ = false;   ///< the daemon has answered, or does not
    bool writes_ = false;    ///< one at a time
    unsigned conflicts_ = 0; ///< in a row, and no other version of the Node has arrived
    std::optional<Time> due_;
    base::Error trouble_; ///< of the connection
    base::Error refusal_; ///< of the last write
    WriteDamper damper_;
    std::optional<Time> beat_at_;    ///< when a heartbeat was written last
    std::optional<Time> held_until_; ///< when the first of what is held back may be written
    std::string held_;               ///< what of it; empty: nothing is held back
    bool held_told_ = false;
    Watch watch_; ///< last: it calls the others
};

} // namespace gpuhost::cluster
