// SPDX-License-Identifier: Apache-2.0
// Certificates that firmware and shim hand to the kernel: the variable db, and MokListRT with the Machine Owner's Keys.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// X.509 certificates (DER) in a row of EFI_SIGNATURE_LIST (UEFI Specification 2.10, 32.4.1). Lists of other types are
/// passed over; what follows one that is cut off or contradicts itself is left out.
[[nodiscard]] std::vector<std::string> parse_signature_lists(std::string_view data);

/// Of the running system; empty where it did not boot by UEFI.
[[nodiscard]] std::vector<std::string> firmware_certificates(const base::Root& root);

/// Of Secure Boot: "enabled", "disabled"; empty where the firmware does not say.
[[nodiscard]] std::string secure_boot_state(const base::Root& root);

} // namespace gpuhost::kmod
