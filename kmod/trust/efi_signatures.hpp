// SPDX-License-Identifier: Apache-2.0
// The certificates that firmware and shim pass to the kernel: the variable db, and MokListRT with the Machine
// Owner's Keys.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Returns the X.509 certificates (DER) in a sequence of EFI_SIGNATURE_LIST (UEFI Specification 2.10,
/// 32.4.1). Skips lists of other types. Stops at a list that is truncated or inconsistent.
[[nodiscard]] std::vector<std::string> parse_signature_lists(std::string_view data);

/// Returns the certificates of the running system. Empty if it did not boot by UEFI.
[[nodiscard]] std::vector<std::string> firmware_certificates(const base::Root& root);

/// Returns the state of Secure Boot: "enabled" or "disabled". Empty if the firmware does not report it.
[[nodiscard]] std::string secure_boot_state(const base::Root& root);

} // namespace gpuhost::kmod
