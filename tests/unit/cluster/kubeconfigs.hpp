// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs for tests. tests/support/kubeconfigs.py has those that are compared with kubectl.
#pragma once

#include <string>

namespace gpuhost::cluster::tests {

/// Returns well-formed PEM; no test parses the five bytes in it.
inline std::string pem(const std::string& label, const std::string& body = "MAMCAQE=\n") {
    return "-----BEGIN " + label + "-----\n" + body + "-----END " + label + "-----\n";
}

/// pem("CERTIFICATE") and pem("PRIVATE KEY") in base64, as in a kubeconfig.
inline const std::string certificate_data =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BTUNBUUU9Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";
inline const std::string key_data =
    "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1BTUNBUUU9Ci0tLS0tRU5EIFBSSVZBVEUgS0VZLS0tLS0K";

inline std::string cluster_members(const std::string& server = "https://10.0.0.1:6443") {
    return "server: '" + server + "', certificate-authority-data: " + certificate_data;
}

inline std::string kubeconfig(const std::string& cluster = cluster_members(),
                              const std::string& user = "token: secret") {
    return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
           "contexts:\n- {name: here, context: {cluster: site, user: host}}\n"
           "clusters:\n- {name: site, cluster: {" +
           cluster +
           "}}\n"
           "users:\n- {name: host, user: {" +
           user + "}}\n";
}

} // namespace gpuhost::cluster::tests
