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

/// The signer as the signature names it. sign-file writes the issuer and serial number of the certificate, or
/// with "sign-file -k" its subject key identifier.
struct ModuleSigner {
    std::string issuer; ///< RFC 2253; empty if key_id is set
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

/// Reads the signature of a module. Returns nullopt if the module is not signed. Fails with BadContent if the
/// signature is malformed: the kernel refuses such a module even if it accepts unsigned ones. Fails with
/// Unsupported if the signature is not CMS or its digest has no name: the kernel treats such a module as
/// unsigned.
[[nodiscard]] base::Result<std::optional<ModuleSignature>> read_module_signature(std::string_view file,
                                                                                 std::string_view what);

/// Verifies that the key of `certificate` (DER) made `signature` over `file`. Fails with AccessDenied if not.
/// Like the kernel, ignores the dates and the issuer of the certificate.
[[nodiscard]] base::Result<void> verify_module_signature(std::string_view file,
                                                         const ModuleSignature& signature,
                                                         std::string_view certificate, std::string_view what);

/// Returns the bytes that follow a SignedData of `length` bytes up to the end of the file: struct
/// module_signature and the magic.
[[nodiscard]] std::string module_signature_end(std::size_t length);

} // namespace gpuhost::content
