// SPDX-License-Identifier: Apache-2.0
#include "kmod/trust/kernel_keys.hpp"

#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuhost::kmod {

std::optional<std::vector<std::uint32_t>> keyring_members(const base::Root& root, const Keyring& keyring) {
    if (!root.is_host())
        return std::nullopt; // a mounted system or a test's tree has no kernel of its own
    // The kernel fills the buffer and returns the size of the whole list, which may be larger. The call is
    // then repeated with that size, several times if the keyring grows.
    constexpr std::size_t most = 1U << 16U;
    std::vector<std::uint32_t> members(64);
    for (;;) {
        const std::size_t room = members.size() * sizeof members.front();
        const long size = ::syscall(SYS_keyctl, KEYCTL_READ, keyring.serial, members.data(), room);
        if (size < 0)
            return std::nullopt;
        const std::size_t count = static_cast<std::size_t>(size) / sizeof members.front();
        const bool whole = count <= members.size();
        if (!whole && count > most)
            return std::nullopt;
        members.resize(count);
        if (whole)
            return members;
    }
}

} // namespace gpuhost::kmod
