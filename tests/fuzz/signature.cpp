// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/module_certificate.hpp"
#include "daemon/content/crypto/module_signature.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    const auto certificate = content::read_module_certificate(text, "input");
    fuzz::require(!certificate || !certificate->der.empty(), "a certificate has bytes");
    const auto found = content::read_module_signature(text, "input");
    if (!found || !*found)
        return 0;
    const content::ModuleSignature& signature = **found;
    fuzz::require(signature.covered < size, "a signature follows the data that it covers");
    fuzz::require(!signature.signer.serial.empty() || !signature.signer.key_id.empty(),
                  "a signature has a signer");
    fuzz::require(!content::verify_module_signature(text, signature, "no certificate", "input"),
                  "without a certificate no signature is valid");
    return 0;
}
