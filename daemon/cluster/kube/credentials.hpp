// SPDX-License-Identifier: Apache-2.0
// By what this host and an API server know each other: what a kubeconfig has, and the files that it names.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/cluster/kube/kubeconfig.hpp"

#include <string>
#include <vector>

namespace gpuhost::cluster {

struct Credentials {
    std::string authorities; ///< PEM
    std::string certificate; ///< PEM; empty: the token is all there is
    std::string key;
    std::string token; ///< without blanks around it; may be empty beside a certificate

    friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Files may have a MiB, a token 64 KiB. What they hold is looked at as parse_kubeconfig() looks at texts.
[[nodiscard]] base::Result<Credentials> read_credentials(const base::Root& root, const Kubeconfig& config);

/// Another one when the kubeconfig at `path`, or a file that it names, was written or replaced; nothing is read for it.
/// Who takes it before it reads, and again behind that, knows that the key belongs to the certificate.
[[nodiscard]] std::string credentials_fingerprint(const base::Root& root, const std::string& path,
                                                  const Kubeconfig& config);

/// What a person should know of these files, a line each: secrets that every user of this host can read. That is no
/// error, since to kubectl it is none.
[[nodiscard]] std::vector<std::string> credentials_notes(const base::Root& root, const std::string& path,
                                                         const Kubeconfig& config);

} // namespace gpuhost::cluster
