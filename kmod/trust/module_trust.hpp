// SPDX-License-Identifier: Apache-2.0
// Will a kernel take a module, by its signature? kernel/module/signing.c and certs/system_keyring.c of Linux 6.1, as far as
// it can be foreseen.
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

/// All that decides. What is not known of it forbids nothing.
struct TrustRules {
    std::string enforcement; ///< why unsigned modules are refused; empty: they are not
    std::string config;      ///< the kernel's; empty: not known
    std::optional<KernelKeys> keys;
    /// From where the kernel has keys, and the site's own. They alone tell the subject key identifier, which keyrings have,
    /// by the issuer and serial number, which signatures have.
    std::vector<content::ModuleCertificate> certificates;
};

enum class Trust {
    Known,  ///< the kernel has the key
    ByName, ///< it has a key that is called as the signer is; which certificate the signer has is not known
    Distributor, ///< only in .platform, where kernels look that their distributor has changed so
    Unknown,     ///< the kernel has no such key
    Blacklisted,
    NotTold ///< the kernel does not say which keys it has
};
[[nodiscard]] Trust trust_of(const content::ModuleSigner& signer, const TrustRules& rules);
/// Nothing where no certificate is the signer's.
[[nodiscard]] const content::ModuleCertificate* certificate_of(const content::ModuleSigner& signer,
                                                               const TrustRules& rules);
/// For people: "'Site modules' (key ca7bbb…)".
[[nodiscard]] std::string text_of(const content::ModuleSigner& signer, const TrustRules& rules);

/// What of a host decides about modules.
[[nodiscard]] TrustRules trust_rules(const base::Root& root, const std::string& kernel);
/// Adds the site's own certificate; nothing where `path` is empty.
[[nodiscard]] base::Result<void> add_certificate(TrustRules& rules, const base::Root& root,
                                                 const std::string& path);

/// What the kernel would refuse about the module's signature. `file` are its bytes, and `warn` gets what is uncertain.
[[nodiscard]] std::optional<core::Problem>
signature_problem(const std::string& module, std::string_view file, const TrustRules& rules,
                  const std::function<void(const std::string&)>& warn);

} // namespace gpuhost::kmod
