// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/pod_access.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/paths.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace gpuhost {

using base::Errc;
using base::Json;
using base::member;
using base::Result;
using cluster::Time;

namespace {

/// How long a copy of the kubelet's credentials is used. The kubelet replaces its credentials from time to
/// time.
constexpr Time lent_for{30'000};

/// The requests that move pods, as the API server names them.
struct EvictRight {
    const char* verb;
    const char* subresource;
    std::string_view words;
    bool overrides = false; ///< needed only if the policy overrides budgets
};
constexpr std::array evict_rights{EvictRight{"create", "eviction", "evict"}, EvictRight{"list", "", "list"},
                                  EvictRight{"watch", "", "watch"}, EvictRight{"delete", "", "delete", true}};

} // namespace

void PodAccess::check(bool overrides, Checked done) {
    if (own_ == nullptr)
        return fetch([this, done = std::move(done)] { done(check_lent()); });
    check_right(0, overrides, std::move(done));
}

/// Checks evict_rights from this one on.
void PodAccess::check_right(std::size_t index, bool overrides, Checked done) {
    if (index == evict_rights.size())
        return done({});
    const EvictRight& right = evict_rights.at(index);
    if (right.overrides && !overrides)
        return check_right(index + 1, overrides, std::move(done));
    (void)own_->create(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {{"apiVersion", "authorization.k8s.io/v1"},
         {"kind", "SelfSubjectAccessReview"},
         {"spec",
          {{"resourceAttributes",
            {{"verb", right.verb}, {"resource", "pods"}, {"subresource", right.subresource}}}}}},
        [this, index, overrides, done = std::move(done)](cluster::ApiAnswer&& answer) {
            if (!answer.done())
                return done(base::fail(answer.error));
            if (!base::bool_or(member(answer.body, "status"), "allowed", false))
                return done(base::fail(Errc::AccessDenied,
                                       "this host's user may not " +
                                           std::string(evict_rights.at(index).words) +
                                           " pods (EvictAs=own): apply "
                                           "/usr/share/gpuhost/kubernetes/evict/host-evict.yaml"));
            check_right(index + 1, overrides, done);
        });
}

/// Requests the current credentials, because the kubelet replaces its certificate every few months. Stores
/// them in files that only this program can read. Then calls `fetched`.
void PodAccess::fetch(std::function<void()> fetched) {
    is_pending_ = true;
    daemon_.ask(client::manager_call("GetKubeletCredentials"),
                [this, fetched = std::move(fetched)](const Result<Json>& answer) {
                    is_pending_ = false;
                    lent_ = answer ? store_files(*answer) : base::fail(answer.error());
                    lent_at_ = cluster::now();
                    fetched();
                });
}

Result<std::string> PodAccess::store_files(const Json& lent) {
    const auto files = base::string_map_or_empty(lent, "files");
    GPUHOST_CHECK(root_.make_directories(cluster::kubelet_directory, 0700));
    std::string kubeconfig;
    for (const auto& [path, text] : files) {
        const std::string copy = cluster::kubelet_directory + path;
        GPUHOST_CHECK(root_.make_directories(copy.substr(0, copy.rfind('/')), 0700));
        GPUHOST_CHECK(root_.write_atomic(copy, text, 0600));
        if (kubeconfig.empty() && (base::ends_with(path, ".conf") || base::ends_with(path, "kubeconfig")))
            kubeconfig = path;
    }
    if (kubeconfig.empty())
        return base::fail(
            Errc::NotFound,
            "kubeconfig of the kubelet: not found: name it in KubeletFiles=, or set EvictAs=own");
    return kubeconfig;
}

/// Opens an Api with the credentials that were received last. `below` must outlive the Api.
Result<cluster::Api> PodAccess::open_lent(const base::Root& below) const {
    GPUHOST_TRY(kubeconfig, lent_);
    return cluster::Api::open(below, kubeconfig);
}

Result<base::Root> PodAccess::kubelet_root() const {
    return base::Root::open(root_.host_path(cluster::kubelet_directory));
}

Result<void> PodAccess::check_lent() const {
    GPUHOST_CHECK(lent_);
    GPUHOST_TRY(below, kubelet_root());
    GPUHOST_CHECK(open_lent(below));
    return {};
}

Result<cluster::Api*> PodAccess::open(std::function<void()> retry) {
    if (own_ != nullptr)
        return own_;
    const bool fresh = lent_at_ && cluster::now() < *lent_at_ + lent_for;
    if (!fresh && !is_pending_)
        fetch(std::move(retry));
    if (!fresh)
        return base::fail(Errc::Busy, "waits for the kubelet's credentials from gpuhostd");
    if (!lent_)
        lent_at_.reset(); // request the credentials again at the next call: the error may be temporary
    GPUHOST_CHECK(lent_);
    GPUHOST_TRY(below, kubelet_root());
    kubelet_.reset();
    kubelet_root_.emplace(std::move(below));
    GPUHOST_TRY(api, open_lent(*kubelet_root_));
    kubelet_.emplace(std::move(api));
    return &*kubelet_;
}

void PodAccess::work() {
    if (kubelet_)
        kubelet_->work();
}

} // namespace gpuhost
