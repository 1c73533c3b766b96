// SPDX-License-Identifier: Apache-2.0
// How this host gets credentials of its own: a key that never leaves it, and a certificate that somebody approves. The
// request's name follows from the key, so whatever is interrupted goes on with the same request.
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
#pragma once

#include "daemon/cluster/kube/paths.hpp"
#include "daemon/cluster/kube/watch.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace gpuhost::cluster {

class Enrolment {
  public:
    /// With the certificate in its file.
    using OnIssued = std::function<void()>;
    using Say = std::function<void(const std::string& line)>;

    /// `api` may create requests for certificates and see them. Both outlive it.
    Enrolment(const base::Root& root, Api& api, std::string node, Say say, OnIssued on_issued);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();

    /// Of the request that waits; empty: none does.
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const base::Error& error() const { return error_; }

  private:
    void begin();
    [[nodiscard]] base::Result<std::string> pending_key() const;
    [[nodiscard]] base::Result<void> submit();
    void submitted(ApiAnswer&& answer);
    void follow();
    void take(const base::Json& request);
    [[nodiscard]] base::Result<void> keep(const std::string& certificate);
    void refused(const base::Json& condition);
    void fail(const base::Error& error, std::optional<std::chrono::seconds> at_least = {});

    const base::Root& root_;
    Api& api_;
    std::string node_;
    Say say_;
    OnIssued on_issued_;
    Backoff backoff_;
    std::string name_;
    std::string key_;
    std::string digest_; ///< of the key
    base::Error error_;
    std::optional<Time> due_ = Time(0);
    bool ended_ = false;
    std::unique_ptr<Watch> watch_; ///< of the request
};

/// When the certificate in own_identity ends; seconds since 1970.
[[nodiscard]] base::Result<std::uint64_t> certificate_until(const base::Root& root);

/// As the kubelet does: when 70 to 90 per cent of its life are over, by chance, so that not all hosts ask at once. Likewise.
[[nodiscard]] base::Result<std::uint64_t> renewal_due(const base::Root& root);

/// A kubeconfig that leads to `server` with what own_identity holds.
[[nodiscard]] base::Json kubeconfig_of(const Kubeconfig& bootstrap, const std::string& authorities);

} // namespace gpuhost::cluster
