// SPDX-License-Identifier: Apache-2.0
// The signature at the end of a kernel module, which the kernel's scripts/sign-file appends and
// kernel/module/signing.c parses.
//
//   image | CMS SignedData, DER, without the image | struct module_signature, 12 bytes |
//   "~Module signature appended~\n"
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::content {

/// The end of a signed file.
inline constexpr std::string_view module_signature_magic = "~Module signature appended~\n";

/// The signer as named in the signature. sign-file writes the issuer and serial number of the certificate, or
/// with "sign-file -k" its subject key identifier.
struct ModuleSigner {
    std::string issuer; ///< RFC 2253; empty with a key_id
    std::string name;   ///< CN of the issuer; the signer's own name if the certificate is self-signed
    std::string serial; ///< lower-case hexadecimal, without leading zeros
    std::string key_id; ///< lower-case hexadecimal
};

struct ModuleSignature {
    std::uint64_t covered = 0; ///< bytes from the start of the file that are signed
    ModuleSigner signer;
    std::string hash; ///< "sha256", as in the kernel's configuration
    std::string der;  ///< the SignedData
};

/// Reads the signature of a module. Returns nothing if it is not signed. Fails with BadContent if it is
/// malformed, which the kernel refuses even if it accepts unsigned modules. Fails with Unsupported if it is
/// not CMS or its digest has no name, which the kernel treats as unsigned.
[[nodiscard]] base::Result<std::optional<ModuleSignature>> read_module_signature(std::string_view file,
                                                                                 std::string_view what);

/// Verifies that it is the signature of this certificate's key over these bytes; fails with AccessDenied if
/// not. `certificate` is DER. Like the kernel it does not check dates and issuer.
[[nodiscard]] base::Result<void> verify_module_signature(std::string_view file,
                                                         const ModuleSignature& signature,
                                                         std::string_view certificate, std::string_view what);

/// Returns what follows a signature of `length` bytes, up to the end of the file.
[[nodiscard]] std::string module_signature_end(std::size_t length);

} // namespace gpuhost::content
