// SPDX-License-Identifier: Apache-2.0
// A certificate that signs kernel modules, with the properties that module signatures and the kernel's
// keyrings refer to.
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
    /// The extension subjectKeyIdentifier in lower-case hexadecimal; empty if the certificate does not have
    /// it.
    std::string key_id;
    std::uint64_t until = 0; ///< seconds since 1970
    bool signs = false;      ///< its key usage has digitalSignature, or is absent
    /// Its extended key usage has codeSigning, or is absent. shim requires this for signers of kernels.
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
/// Makes an RSA 4096 key with a self-signed certificate that is for code signing alone. It is valid for a
/// hundred years, like the certificate of a kernel's own build: the expiry of a certificate in the firmware
/// would not be noticed in time.
[[nodiscard]] base::Result<ModuleIdentity> make_module_identity(const std::string& name);

} // namespace gpuhost::content
