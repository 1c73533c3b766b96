// SPDX-License-Identifier: Apache-2.0
// A certificate for kernel modules, with the properties that signatures and the kernel's keyrings refer to.
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
    std::string serial; ///< as in ModuleSigner
    /// from the extension subjectKeyIdentifier, lower-case hexadecimal; empty without it
    std::string key_id;
    std::uint64_t until = 0; ///< seconds since 1970
    bool signs = false;      ///< its key usage, if it has one, has digitalSignature
    /// Its extended key usage, if it has one, has codeSigning. It is required by shim for signers of kernels.
    /// Kernels with CHECK_CODESIGN_EKU require it for signers of modules.
    bool signs_code = false;
};

/// Reads the first certificate in `text`, PEM or DER. Fails with BadContent naming `what`.
[[nodiscard]] base::Result<ModuleCertificate> read_module_certificate(std::string_view text,
                                                                      std::string_view what);

struct ModuleIdentity {
    std::string key;         ///< PEM, not encrypted
    std::string certificate; ///< DER
};
/// Makes an RSA 4096 key with a self-signed certificate for code signing alone, valid for a hundred years
/// like that of the kernel's own build. A certificate enrolled in firmware must not end at a date that is not
/// monitored.
[[nodiscard]] base::Result<ModuleIdentity> make_module_identity(const std::string& name);

} // namespace gpuhost::content
