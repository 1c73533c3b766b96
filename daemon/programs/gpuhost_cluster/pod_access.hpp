// SPDX-License-Identifier: Apache-2.0
// The API server with credentials that move pods of this host: the kubelet's, which gpuhostd lends, or this
// program's own (EvictAs=own).
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/client/async_client.hpp"
#include "daemon/cluster/kube/api.hpp"
#include "daemon/cluster/kube/backoff.hpp"

#include <functional>
#include <optional>
#include <string>

namespace gpuhost {

class PodAccess {
  public:
    using Checked = std::function<void(const base::Result<void>&)>;

    /// `own` is the API server with this program's credentials, which then move pods; null: the kubelet's do.
    /// All references and `own` must outlive this object.
    PodAccess(client::AsyncClient& daemon, const base::Root& root, cluster::Api* own)
        : daemon_(daemon), root_(root), own_(own) {}

    /// Checks whether pods can be moved: with the kubelet's credentials, whether they can be read; with this
    /// program's own, whether the API server permits each request that moves pods. `overrides`: the policy
    /// overrides budgets. Then calls `done`.
    void check(bool overrides, Checked done);

    /// Returns the API server. This object owns it until the next call. Fails with Busy while a reply of
    /// gpuhostd is pending, and calls `retry` after it. Does not call `retry` if check() or an earlier open()
    /// sent the request.
    [[nodiscard]] base::Result<cluster::Api*> open(std::function<void()> retry);

    /// Descriptor of the connection with the kubelet's credentials, or -1; if readable, call work().
    [[nodiscard]] int descriptor() const { return kubelet_ ? kubelet_->descriptor() : -1; }
    void work();

  private:
    void check_right(std::size_t index, bool overrides, Checked done);
    void fetch(std::function<void()> fetched);
    [[nodiscard]] base::Result<std::string> store_files(const base::Json& files);
    [[nodiscard]] base::Result<base::Root> kubelet_root() const;
    [[nodiscard]] base::Result<cluster::Api> open_lent(const base::Root& below) const;
    [[nodiscard]] base::Result<void> check_lent() const;

    client::AsyncClient& daemon_;
    const base::Root& root_;
    cluster::Api* own_;

    /// Path of the kubelet's kubeconfig below kubelet_directory, or why there is none.
    base::Result<std::string> lent_ = std::string();
    std::optional<cluster::Time> lent_at_;
    bool is_pending_ = false; ///< a reply of gpuhostd is pending
    std::optional<base::Root> kubelet_root_;
    std::optional<cluster::Api> kubelet_;
};

} // namespace gpuhost
