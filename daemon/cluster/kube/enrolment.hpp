// SPDX-License-Identifier: Apache-2.0
// Obtains this host's own credentials: a private key that never leaves the host, and a certificate that an
// administrator approves. The name of the request is derived from the key, so an interrupted enrolment
// continues with the same request.
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
    /// Called when the certificate has been written to its file.
    using OnIssued = std::function<void()>;
    using LogLine = std::function<void(const std::string& line)>;

    /// `api` needs the right to create and read certificate signing requests. `root` and `api` must outlive
    /// this object.
    Enrolment(const base::Root& root, Api& api, std::string node, LogLine log_line, OnIssued on_issued);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();

    /// Returns the name of the request that the API server has and that waits for approval; empty: none.
    [[nodiscard]] std::string name() const { return pending_ ? name_ : std::string(); }
    [[nodiscard]] const base::Error& error() const { return error_; }
    /// Returns when a failed or denied request is made again, in seconds since 1970; 0: no retry is planned.
    [[nodiscard]] std::uint64_t retry_at() const { return due_ ? retry_at_ : 0; }

  private:
    void begin();
    [[nodiscard]] base::Result<std::string> pending_key() const;
    [[nodiscard]] base::Result<void> submit();
    void submitted(ApiAnswer&& answer);
    void follow();
    void handle(const base::Json& request);
    [[nodiscard]] base::Result<void> keep(const std::string& certificate);
    void refused(const base::Json& condition);
    void retry_after(Time wait);
    void fail(const base::Error& error, std::optional<std::chrono::seconds> at_least = {});

    const base::Root& root_;
    Api& api_;
    std::string node_;
    LogLine log_;
    OnIssued on_issued_;
    Backoff backoff_;
    std::string name_;
    std::string key_;
    std::string digest_; ///< digest of the key
    base::Error error_;
    std::optional<Time> due_ = Time(0);
    std::uint64_t retry_at_ = 0; ///< due_ on the real-time clock, in seconds
    bool pending_ = false;       ///< the API server has the request, and it is not denied
    bool ended_ = false;
    std::unique_ptr<Watch> watch_; ///< watches the request
};

/// Returns when the certificate in own_identity expires, in seconds since 1970.
[[nodiscard]] base::Result<std::uint64_t> certificate_until(const base::Root& root);

/// Returns when to renew the certificate in own_identity, in seconds since 1970. As in the kubelet, this is a
/// random time between 70 and 90 percent of the lifetime, so that hosts do not ask at the same time.
[[nodiscard]] base::Result<std::uint64_t> renewal_due(const base::Root& root);

/// Returns a kubeconfig for the server of `bootstrap` with the credentials in own_identity.
[[nodiscard]] base::Json kubeconfig_of(const Kubeconfig& bootstrap, const std::string& authorities);

} // namespace gpuhost::cluster
