// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs for tests. tests/support/kubeconfigs.py has those that are compared with kubectl.
#pragma once

#include "daemon/content/crypto/base64.hpp"

#include <string>

namespace gpuhost::cluster::tests {

/// A self-signed certificate and its key, for tests only.
inline const std::string certificate = "-----BEGIN CERTIFICATE-----\n"
                                       "MIIBADCBqAIBATAKBggqhkjOPQQDAjAMMQowCAYDVQQDDAFhMCAXDTI2MTEyNzIx\n"
                                       "MDAxOVoYDzIxMjYxMTAzMjEwMDE5WjAMMQowCAYDVQQDDAFhMFkwEwYHKoZIzj0C\n"
                                       "AQYIKoZIzj0DAQcDQgAEzHijcUVV19SFZhkC2A/Zhrx+3INy5Ewoz42EcOBSv+6k\n"
                                       "RhOyGhevZgsLt6ag1sBJMW5rGqnWh2bFvp7sMbiIWDAKBggqhkjOPQQDAgNHADBE\n"
                                       "AiBTzeo1/1yAnPVtldd1iJBf5w7LDv3FUpKwCuv2qCljNQIgHZKHCT58iqtcNYnJ\n"
                                       "V27Rxmivmc+JtuT6C4+1Ghbo0bQ=\n"
                                       "-----END CERTIFICATE-----\n";
inline const std::string key = "-----BEGIN PRIVATE KEY-----\n"
                               "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6Zfvhfe4V2ebUFZb\n"
                               "bUDaiB1MB2fiF8gMWOpeQSqcFxGhRANCAATMeKNxRVXX1IVmGQLYD9mGvH7cg3Lk\n"
                               "TCjPjYRw4FK/7qRGE7IaF69mCwu3pqDWwEkxbmsaqdaHZsW+nuwxuIhY\n"
                               "-----END PRIVATE KEY-----\n";

/// The two in base64, as in a kubeconfig.
inline const std::string certificate_data = content::encode_base64(certificate);
inline const std::string key_data = content::encode_base64(key);

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
