// SPDX-License-Identifier: Apache-2.0
// Parses /proc/keys and EFI signature lists, which contain text of certificates and firmware.
#include "kmod/trust/efi_signatures.hpp"
#include "kmod/trust/kernel_keys.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    const kmod::KernelKeys keys = kmod::parse_proc_keys(text);
    for (const kmod::KernelKey& key : keys.keys) {
        fuzz::require(!key.id.empty() && key.id.find_first_not_of("0123456789abcdef") == std::string::npos,
                      "a key has an id");
        fuzz::require(key.name.find('\n') == std::string::npos, "a key's name is one line");
    }
    for (const kmod::Keyring& keyring : keys.keyrings)
        fuzz::require(keyring.name.front() == '.', "each keyring is one of the kernel's");
    std::size_t bytes = 0;
    for (const std::string& certificate : kmod::parse_signature_lists(text))
        bytes += certificate.size();
    fuzz::require(bytes <= size, "certificates are parts of the lists");
    return 0;
}
