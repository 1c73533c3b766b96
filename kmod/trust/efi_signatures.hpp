// SPDX-License-Identifier: Apache-2.0
// Reads the certificates that firmware and shim pass to the kernel from EFI variables: db of the firmware,
// and MokListRT with the Machine Owner's Keys.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Returns the X.509 certificates (DER) in the content of an EFI variable, which is a sequence of
/// EFI_SIGNATURE_LIST (UEFI Specification 2.10, 32.4.1). Skips lists of other types. Ends at a list that is
/// truncated or inconsistent.
[[nodiscard]] std::vector<std::string> parse_signature_lists(std::string_view data);

/// Returns the certificates (DER) in the variables db and MokListRT of this host. Empty if it did not boot by
/// UEFI.
[[nodiscard]] std::vector<std::string> firmware_certificates(const base::Root& root);

/// Returns the state of Secure Boot: "enabled" or "disabled". Empty if the firmware does not report it.
[[nodiscard]] std::string secure_boot_state(const base::Root& root);

} // namespace gpuhost::kmod
