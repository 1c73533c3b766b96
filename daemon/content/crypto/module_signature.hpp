// SPDX-License-Identifier: Apache-2.0
// The signature behind a kernel module: what the kernel's scripts/sign-file appends, and kernel/module/signing.c takes
// apart again.
//
//   image | CMS SignedData, DER, the image not in it | struct module_signature, 12 bytes | "~Module signature appended~\n"
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::content {

/// The end of a file that has a signature.
inline constexpr std::string_view module_signature_magic = "~Module signature appended~\n";

/// Who signed, as the signature says it: by the issuer and serial number of the certificate, which is what sign-file
/// writes, or with "sign-file -k" by its subject key identifier.
struct ModuleSigner {
    std::string issuer; ///< RFC 2253; empty with a key_id
    std::string name;   ///< CN of the issuer, which is the signer's own where the certificate is self-signed
    std::string serial; ///< lower-case hexadecimal, without leading zeros
    std::string key_id; ///< lower-case hexadecimal
};

struct ModuleSignature {
    std::uint64_t covered = 0; ///< bytes from the start of the file that it is over
    ModuleSigner signer;
    std::string hash; ///< "sha256", as the kernel's configuration names it
    std::string der;  ///< the SignedData
};

/// Nothing of a module that is not signed. BadContent: malformed, which the kernel refuses even where it takes unsigned
/// modules. Unsupported: no CMS, or a digest without a name, which the kernel treats as no signature.
[[nodiscard]] base::Result<std::optional<ModuleSignature>> read_module_signature(std::string_view file,
                                                                                 std::string_view what);

/// Is it the signature of this certificate's key over these bytes? AccessDenied if not. `certificate` is DER. Neither
/// dates nor who issued it are looked at, as the kernel does not.
[[nodiscard]] base::Result<void> verify_module_signature(std::string_view file,
                                                         const ModuleSignature& signature,
                                                         std::string_view certificate, std::string_view what);

/// What stands behind a signature of `length` bytes, to the end of the file.
[[nodiscard]] std::string module_signature_end(std::size_t length);

} // namespace gpuhost::content
