// SPDX-License-Identifier: Apache-2.0
// Reports which signatures of modules the running kernel requires, and whether it would accept the drivers in
// the store. Only 'gpuhostctl secure-boot' uses this. The preflight of a swap makes its own checks.
#pragma once

#include "daemon/base/root.hpp"
#include "kmod/driver_settings.hpp"
#include "kmod/trust/module_trust.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// The result of the check of one module set for the running kernel.
struct SetVerdict {
    std::string version;
    std::string flavour;
    std::string digest;
    bool selected = false;               ///< selected for the running kernel
    std::vector<core::Problem> problems; ///< empty: the kernel would accept the set
    std::vector<std::string> warnings;
};

struct SecureBoot {
    std::string kernel;
    std::string state; ///< Secure Boot in the firmware: "enabled", "disabled"; empty: not reported
    TrustRules rules;
    std::optional<content::ModuleCertificate> site; ///< the certificate in SigningCertificate=
    /// Why the certificate in SigningCertificate= cannot be read; empty: it was read, or is not configured.
    std::string site_error;
    /// For each driver version the set that a swap would use, and the selected set.
    std::vector<SetVerdict> sets;
};

/// Reads all modules of the examined sets, which may last some seconds. Only root can read the keyrings; for
/// others the kernel's keys are unknown.
[[nodiscard]] base::Result<SecureBoot> read_secure_boot(const base::Root& root,
                                                        const DriverSettings& settings);

/// Returns the document of `secure-boot status --json` (org.gpuhost1(5)).
[[nodiscard]] base::Json to_json(const SecureBoot& boot);

/// Returns the word for a Trust in JSON: "known", "unknown", "blacklisted", …
[[nodiscard]] std::string_view name(Trust trust) noexcept;
/// Returns whether the kernel accepts modules that are signed with this certificate's key.
[[nodiscard]] Trust trust_of(const content::ModuleCertificate& certificate, const TrustRules& rules);

} // namespace gpuhost::kmod
