// SPDX-License-Identifier: Apache-2.0
// Predicts whether a kernel will accept a module's signature. Applies the rules of kernel/module/signing.c
// and certs/system_keyring.c of Linux 6.1, as far as user space can.
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

/// The facts about a kernel that decide whether it accepts a module. If a fact is unknown, the module is not
/// refused because of it.
struct TrustRules {
    /// signature_enforcement(): why unsigned modules are refused; empty: they are accepted.
    std::string enforcement;
    std::string config;             ///< the kernel's configuration; empty: unknown
    std::optional<KernelKeys> keys; ///< keys of the running kernel; no value: unknown
    /// Certificates whose keys the kernel may have: the firmware's, and the site's own. A signature
    /// identifies its signer by issuer and serial number, but the kernel lists its keys by subject key
    /// identifier. Only a certificate has both.
    std::vector<content::ModuleCertificate> certificates;
};

enum class Trust {
    Known, ///< the kernel has the key
    /// The kernel has a key with the signer's name; without the signer's certificate it is unknown whether it
    /// is the same key.
    ByName,
    /// The key is only in the keyring .platform, which only kernels with a patch of some distributions use
    /// for modules.
    Distributor,
    Unknown,     ///< the kernel has no such key
    Blacklisted, ///< the key is in the keyring .blacklist
    NotTold      ///< the kernel's keys cannot be read
};
/// Returns whether the kernel has the key of this signer.
[[nodiscard]] Trust trust_of(const content::ModuleSigner& signer, const TrustRules& rules);
/// Returns the signer's certificate among rules.certificates; null if it is not there.
[[nodiscard]] const content::ModuleCertificate* certificate_of(const content::ModuleSigner& signer,
                                                               const TrustRules& rules);
/// Returns the signer as text for messages: "'Site modules' (key ca7bbb…)".
[[nodiscard]] std::string text_of(const content::ModuleSigner& signer, const TrustRules& rules);

/// Reads the facts about this host and `kernel`: enforcement, the kernel's configuration, the running
/// kernel's keys, and the firmware's certificates.
[[nodiscard]] TrustRules trust_rules(const base::Root& root, const std::string& kernel);
/// Adds the certificate in the file `path` (SigningCertificate=). Does nothing if `path` is empty.
[[nodiscard]] base::Result<void> add_certificate(TrustRules& rules, const base::Root& root,
                                                 const std::string& path);

/// Returns why the kernel would refuse the module because of its signature; nothing if it would accept it.
/// `module` names it in messages, `file` is its content. Calls `warn` with a sentence if the result is
/// uncertain.
[[nodiscard]] std::optional<core::Problem>
signature_problem(const std::string& module, std::string_view file, const TrustRules& rules,
                  const std::function<void(const std::string&)>& warn);

} // namespace gpuhost::kmod
