// SPDX-License-Identifier: Apache-2.0
// Predicts whether a kernel will accept a module by its signature. Follows kernel/module/signing.c and
// certs/system_keyring.c of Linux 6.1 as far as possible.
#pragma once

#include "daemon/content/crypto/module_certificate.hpp"
#include "daemon/content/crypto/module_signature.hpp"
#include "daemon/core/step.hpp"
#include "kmod/trust/kernel_keys.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::kmod {

/// The input of the prediction. Unknown parts do not cause a refusal.
struct TrustRules {
    std::string enforcement; ///< why unsigned modules are refused; empty: they are accepted
    std::string config;      ///< the kernel's configuration; empty: unknown
    std::optional<KernelKeys> keys;
    /// The certificates from which the kernel has keys, and the site's own. Signatures name the issuer and
    /// serial number; keyrings list the subject key identifier. Only certificates relate the two.
    std::vector<content::ModuleCertificate> certificates;
};

enum class Trust {
    Known,       ///< the kernel has the key
    ByName,      ///< the kernel has a key with the signer's name; the signer's certificate is unknown
    Distributor, ///< only in .platform, which kernels check only with a patch of their distributor
    Unknown,     ///< the kernel has no such key
    Blacklisted,
    NotTold ///< the kernel does not list its keys
};
[[nodiscard]] Trust trust_of(const content::ModuleSigner& signer, const TrustRules& rules);
/// Returns nothing if no certificate is the signer's.
[[nodiscard]] const content::ModuleCertificate* certificate_of(const content::ModuleSigner& signer,
                                                               const TrustRules& rules);
/// Returns a text for people: "'Site modules' (key ca7bbb…)".
[[nodiscard]] std::string text_of(const content::ModuleSigner& signer, const TrustRules& rules);

/// Reads what decides about modules of `kernel` on this host: enforcement, configuration, keys, and the
/// firmware's certificates.
[[nodiscard]] TrustRules trust_rules(const base::Root& root, const std::string& kernel);
/// Adds the site's own certificate. Does nothing if `path` is empty.
[[nodiscard]] base::Result<void> add_certificate(TrustRules& rules, const base::Root& root,
                                                 const std::string& path);

/// Returns the problem that the kernel would have with the module's signature; nothing if it has none. `file`
/// is the module's content. Calls `warn` for what is uncertain.
[[nodiscard]] std::optional<core::Problem>
signature_problem(const std::string& module, std::string_view file, const TrustRules& rules,
                  const std::function<void(const std::string&)>& warn);

} // namespace gpuhost::kmod
