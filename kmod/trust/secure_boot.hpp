// SPDX-License-Identifier: Apache-2.0
// Reports which module signatures a host's kernel requires, and whether it would accept the drivers in the
// store. For people only: the preflight of a swap does its own checks.
#pragma once

#include "daemon/base/root.hpp"
#include "kmod/driver_settings.hpp"
#include "kmod/trust/module_trust.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// The verdict on one module set for the running kernel.
struct SetVerdict {
    std::string version;
    std::string flavour;
    std::string digest;
    bool selected = false;
    std::vector<core::Problem> problems; ///< empty: the kernel would accept the set
    std::vector<std::string> warnings;
};

struct SecureBoot {
    std::string kernel;
    std::string state; ///< of the firmware: "enabled", "disabled"; empty: not reported
    TrustRules rules;
    std::optional<content::ModuleCertificate> site; ///< SigningCertificate=
    std::string site_error;       ///< why it cannot be read; empty: readable, or not configured
    std::vector<SetVerdict> sets; ///< of each version the set that a swap would use, and the selected set
};

/// Reads modules of the store, so it may take a moment. Only root can read the keyrings.
[[nodiscard]] base::Result<SecureBoot> read_secure_boot(const base::Root& root,
                                                        const DriverSettings& settings);

/// Returns the document of `secure-boot status --json` (org.gpuhost1(5)).
[[nodiscard]] base::Json to_json(const SecureBoot& boot);

/// Returns the word for a trust in JSON: "known", "unknown", "blacklisted", …
[[nodiscard]] std::string_view name(Trust trust) noexcept;
[[nodiscard]] Trust trust_of(const content::ModuleCertificate& certificate, const TrustRules& rules);

} // namespace gpuhost::kmod
