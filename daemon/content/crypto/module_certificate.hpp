// SPDX-License-Identifier: Apache-2.0
// A certificate for kernel modules: the same facts of it that a signature and the kernel's keyrings have.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::content {

struct ModuleCertificate {
    std::string der;
    std::string pem;
    std::string name;   ///< CN of the subject
    std::string issuer; ///< RFC 2253, as in ModuleSigner
    std::string serial; ///< likewise
    std::string key_id; ///< of the extension subjectKeyIdentifier, lower-case hexadecimal; empty without it
    std::uint64_t until = 0; ///< seconds since 1970
    bool signs = false;      ///< its key usage, if it has one, has digitalSignature
    /// Its extended key usage, if it has one, has codeSigning. shim asks for that of what signs kernels, and kernels with
    /// CHECK_CODESIGN_EKU of what signs modules.
    bool signs_code = false;
};

/// The first certificate in `text`, PEM or DER. BadContent naming `what`.
[[nodiscard]] base::Result<ModuleCertificate> read_module_certificate(std::string_view text,
                                                                      std::string_view what);

struct ModuleIdentity {
    std::string key;         ///< PEM, not encrypted
    std::string certificate; ///< DER
};
/// RSA 4096, self-signed, for code alone and for a hundred years, as the kernel's own build makes one: what is enrolled in
/// firmware is not to end by a date that nobody checks.
[[nodiscard]] base::Result<ModuleIdentity> make_module_identity(const std::string& name);

} // namespace gpuhost::content
