// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/kernel_config.hpp"

#include <array>

namespace gpuhost::kmod {
namespace {

struct HashOption {
    std::string_view hash;
    std::string_view option; ///< option in crypto/Kconfig; one option may be for several hashes
};
constexpr std::array options{
    HashOption{"sha1", "CONFIG_CRYPTO_SHA1"},     HashOption{"sha224", "CONFIG_CRYPTO_SHA256"},
    HashOption{"sha256", "CONFIG_CRYPTO_SHA256"}, HashOption{"sha384", "CONFIG_CRYPTO_SHA512"},
    HashOption{"sha512", "CONFIG_CRYPTO_SHA512"}, HashOption{"sha3-256", "CONFIG_CRYPTO_SHA3"},
    HashOption{"sha3-384", "CONFIG_CRYPTO_SHA3"}, HashOption{"sha3-512", "CONFIG_CRYPTO_SHA3"}};

bool is_off(std::string_view config, std::string_view option) {
    return config.find("\n# " + std::string(option) + " is not set\n") != std::string_view::npos;
}

} // namespace

std::string kernel_config(const base::Root& root, const std::string& release) {
    return root.read("/boot/config-" + release).value_or(std::string());
}

bool supports_hash(std::string_view config, std::string_view hash) {
    for (const HashOption& row : options)
        if (row.hash == hash)
            // "=m" counts as supported: the kernel loads the module when needed.
            return !is_off(config, row.option);
    return true;
}

} // namespace gpuhost::kmod
