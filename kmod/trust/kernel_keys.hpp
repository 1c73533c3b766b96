// SPDX-License-Identifier: Apache-2.0
// The keys that a kernel has: /proc/keys lists them, and keyctl(2) lists the keys of each keyring.
//
// /proc/keys has a line for each key that the reader may see; root sees all of the kernel's own. The line of
// an X.509 key has the subject, in the kernel's format, and the subject key identifier. The line of a keyring
// has its name and the number of its keys, but not which. KEYCTL_READ returns the keys of a keyring; root may
// read each keyring listed here.
// Neither has the issuer and serial number by which most signatures name their signer.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

struct KernelKey {
    std::uint32_t serial = 0; ///< the kernel's number of the key
    std::string name;         ///< of the subject: "O: CN", or CN alone if it begins with the same text as O
    /// Lower-case hexadecimal: the subject key identifier, else the certificate's serial number.
    std::string id;
    std::vector<std::string> keyrings; ///< ".builtin_trusted_keys", …
};

struct Keyring {
    std::uint32_t serial = 0;
    std::string name;
};

struct KernelKeys {
    std::vector<KernelKey> keys; ///< usable X.509 keys of root
    /// of root, with names that begin with ".", which only the kernel can create
    std::vector<Keyring> keyrings;
    bool in_keyrings = false; ///< the keyrings of each key are known
};

/// Parses /proc/keys. Ignores malformed lines, keys that cannot be used, and keys of other users, which may
/// have any name.
[[nodiscard]] KernelKeys parse_proc_keys(std::string_view text);

/// Returns the numbers of the keys in a keyring. Returns nothing if the kernel does not report them. Replaced
/// at link time: programs link kmod/trust/keyring_members.cpp, tests link tests/support/fake_loader.cpp.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> keyring_members(const base::Root& root,
                                                                        const Keyring& keyring);

/// Returns nothing if /proc/keys does not exist or cannot be read.
[[nodiscard]] std::optional<KernelKeys> kernel_keys(const base::Root& root);

} // namespace gpuhost::kmod
