// SPDX-License-Identifier: Apache-2.0
// The keys that a kernel knows, as /proc/keys lists them and keyctl(2) says in which keyring each is.
//
// /proc/keys has a line for each key that its reader may see, root all of the kernel's own. Of an X.509 key it says the
// subject, in the kernel's words, and the subject key identifier; of a keyring its name and how many keys it has, not
// which. Those are what KEYCTL_READ of a keyring gives, which root may ask of each that is named here.
// Neither says the issuer and serial number by which most signatures name their signer.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

struct KernelKey {
    std::uint32_t serial = 0; ///< the kernel's number for it
    std::string name;         ///< of the subject: "O: CN", or CN alone where that begins as O does
    std::string
        id; ///< lower-case hexadecimal: its subject key identifier, else its certificate's serial number
    std::vector<std::string> keyrings; ///< ".builtin_trusted_keys", …
};

struct Keyring {
    std::uint32_t serial = 0;
    std::string name;
};

struct KernelKeys {
    std::vector<KernelKey> keys;   ///< X.509 keys of root that can be used
    std::vector<Keyring> keyrings; ///< of root, whose names begin with "." as only the kernel can name them
    bool in_keyrings = false;      ///< it is known of each key in which of these it is
};

/// What is no line of /proc/keys is left out. Keys of other users, which may be called anything, count for nothing.
[[nodiscard]] KernelKeys parse_proc_keys(std::string_view text);

/// Numbers of the keys in a keyring; nothing where the kernel does not say. A seam at link time: programs link
/// kmod/trust/keyring_members.cpp, tests tests/support/fake_loader.cpp.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> keyring_members(const base::Root& root,
                                                                        const Keyring& keyring);

/// Nothing where there is no /proc/keys, or it can't be read.
[[nodiscard]] std::optional<KernelKeys> kernel_keys(const base::Root& root);

} // namespace gpuhost::kmod
