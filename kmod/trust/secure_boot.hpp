// SPDX-License-Identifier: Apache-2.0
// What a host's kernel asks of modules' signatures, and what it would say to the drivers in the store. For people: a swap's
// preflight looks itself.
#pragma once

#include "daemon/base/root.hpp"
#include "kmod/driver_settings.hpp"
#include "kmod/trust/module_trust.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// One module set for the running kernel.
struct SetVerdict {
    std::string version;
    std::string flavour;
    std::string digest;
    bool selected = false;
    std::vector<core::Problem> problems; ///< none: the kernel would take it
    std::vector<std::string> warnings;
};

struct SecureBoot {
    std::string kernel;
    std::string state; ///< of the firmware: "enabled", "disabled"; empty: it does not say
    TrustRules rules;
    std::optional<content::ModuleCertificate> site; ///< SigningCertificate=
    std::string site_error;                         ///< why it can't be read; empty: it can, or none is named
    std::vector<SetVerdict> sets; ///< of each version the one that a swap would take, and the selected one
};

/// Reads modules of the store, so it may take a moment. Keyrings are told to root alone.
[[nodiscard]] base::Result<SecureBoot> read_secure_boot(const base::Root& root,
                                                        const DriverSettings& settings);

/// `secure-boot status --json` (org.gpuhost1(5)).
[[nodiscard]] base::Json to_json(const SecureBoot& boot);

/// How a key of that certificate stands with the kernel: "known", "unknown", "blacklisted", …
[[nodiscard]] std::string_view name(Trust trust) noexcept;
[[nodiscard]] Trust trust_of(const content::ModuleCertificate& certificate, const TrustRules& rules);

} // namespace gpuhost::kmod
