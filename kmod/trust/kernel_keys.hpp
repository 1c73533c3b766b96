// SPDX-License-Identifier: Apache-2.0
// Reads the X.509 keys that the running kernel has: /proc/keys lists all keys, and keyctl(2) the keys in each
// keyring.
//
// /proc/keys has one line for each key that the reader may see; root sees all keys of the kernel. The line of
// an X.509 key has its subject, in the kernel's format, and its subject key identifier. The line of a keyring
// has its name and how many keys it has. KEYCTL_READ returns the numbers of the keys in a keyring, for root.
// Neither source has the issuer and serial number of a certificate, by which most signatures identify their
// signer.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

struct KernelKey {
    std::uint32_t serial = 0; ///< the kernel's number of the key, as keyctl(2) uses it
    std::string name;         ///< the subject: "O: CN", or CN alone if it begins with the same text as O
    /// Lower-case hexadecimal: the subject key identifier, else the certificate's serial number.
    std::string id;
    std::vector<std::string> keyrings; ///< names of the keyrings that contain it: ".builtin_trusted_keys", …
};

/// A keyring of the kernel: its number and name.
struct Keyring {
    std::uint32_t serial = 0;
    std::string name;
};

struct KernelKeys {
    std::vector<KernelKey> keys; ///< usable X.509 keys whose owner is root
    /// Keyrings whose owner is root and whose names begin with ".". Only the kernel can create these.
    std::vector<Keyring> keyrings;
    bool in_keyrings = false; ///< true: KernelKey::keyrings is known for all keys
};

/// Parses the text of /proc/keys. Ignores malformed lines and keys that cannot be used. Also ignores keys of
/// other users, who can give them any name.
[[nodiscard]] KernelKeys parse_proc_keys(std::string_view text);

/// Returns the numbers of the keys in a keyring (KernelKey::serial). Returns nothing if the kernel does not
/// report them. Tests replace this function at link time: programs link kmod/trust/keyring_members.cpp, tests
/// link tests/support/fake_loader.cpp.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> keyring_members(const base::Root& root,
                                                                        const Keyring& keyring);

/// Returns the keys with their keyrings. Returns nothing if /proc/keys does not exist or cannot be read.
[[nodiscard]] std::optional<KernelKeys> kernel_keys(const base::Root& root);

} // namespace gpuhost::kmod
