// SPDX-License-Identifier: Apache-2.0
// Reads the policy from its sources, lowest priority first: a file on the host, the GPU Operator's
// ClusterPolicy, and ConfigMap gpuhost-policy. gpuhost-policy(5) describes them.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/cluster/kube/watch.hpp"
#include "daemon/cluster/policy/policy.hpp"
#include "daemon/cluster/policy/texts.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace gpuhost::cluster {

class PolicySource {
  public:
    using LogLine = std::function<void(const std::string& line)>;

    /// `api` and `root` must outlive this object. Without `root` no file of this host is read: the cluster
    /// may be another one than this host's.
    PolicySource(Api& api, const base::Root* root, LogLine log_line);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();
    void retry();   ///< retries at once; called when the credentials have changed
    void refresh(); ///< reads the policy's file again

    /// Returns null until every source has been read.
    [[nodiscard]] const Policy* policy() const { return policy_ ? &*policy_ : nullptr; }
    /// Returns why the policy may be out of date; the message is empty if the policy is up to date.
    [[nodiscard]] const base::Error& trouble() const;
    [[nodiscard]] const MergedPolicy& merged() const { return merged_; }
    /// Returns a number that increases whenever policy() changes.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }
    [[nodiscard]] base::Json document() const; ///< the output of `gpuhostctl cluster policy --json`

  private:
    void read_file();
    void watch_cluster_policies();
    void choose();
    void merge();
    void note(const std::string& what, const base::Error& trouble, base::Error& known);

    Api& api_;
    const base::Root* root_;
    LogLine log_;
    PolicyTexts texts_;
    std::map<std::string, base::Json> cluster_policies_;
    bool cluster_policies_known_ = false;
    bool config_map_known_ = false;
    bool is_not_served_ = false; ///< the server does not serve ClusterPolicy
    std::optional<Time> poll_at_;
    base::Error cluster_policies_trouble_;
    base::Error config_map_trouble_;
    std::string file_trouble_;
    MergedPolicy merged_;
    std::optional<Policy> policy_;
    std::uint64_t changes_ = 0;
    std::unique_ptr<Watch> cluster_policies_watch_;
    Watch config_map_watch_;
};

} // namespace gpuhost::cluster
