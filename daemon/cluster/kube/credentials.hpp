// SPDX-License-Identifier: Apache-2.0
// The certificates, key and token that a kubeconfig contains, or that are in the files that it names.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/cluster/kube/kubeconfig.hpp"

#include <string>
#include <vector>

namespace gpuhost::cluster {

struct Credentials {
    std::string authorities; ///< PEM
    std::string certificate; ///< PEM; empty: only the token is used
    std::string key;
    std::string token; ///< trimmed; may be empty beside a certificate

    friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Reads the credentials and checks their format like parse_kubeconfig(). A file may have at most 1 MiB, a
/// token 64 KiB.
[[nodiscard]] base::Result<Credentials> read_credentials(const base::Root& root, const Kubeconfig& config);

/// Returns when the client certificate expires, in seconds since 1970; 0: there is none.
[[nodiscard]] std::uint64_t expiry_of(const Credentials& credentials);

/// Returns a text that changes when the kubeconfig at `path`, or a file that it names, is written or
/// replaced. Does not read the files' contents. If the text is the same before and after a read, the key and
/// the certificate belong together.
[[nodiscard]] std::string credentials_fingerprint(const base::Root& root, const std::string& path,
                                                  const Kubeconfig& config);

/// Returns one warning for each file that has a secret and that every user of this host can read: the
/// kubeconfig at `path`, or a file that it names. This is not an error, because kubectl accepts it.
[[nodiscard]] std::vector<std::string> credentials_notes(const base::Root& root, const std::string& path,
                                                         const Kubeconfig& config);

} // namespace gpuhost::cluster
