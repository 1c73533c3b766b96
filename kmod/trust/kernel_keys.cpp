// SPDX-License-Identifier: Apache-2.0
#include "kmod/trust/kernel_keys.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::kmod {
namespace {

constexpr std::size_t keys_limit = 8U << 20; // bytes; about 50,000 lines
constexpr std::string_view blanks = " \t";

/// Removes the first word from `line` and returns it.
std::string_view next_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word;
}

/// Returns whether a key is usable, by the second column of /proc/keys: "I------" is instantiated, and not
/// revoked, dead, under construction, negative or invalidated.
bool is_usable(std::string_view flags) {
    return !flags.empty() && flags.front() == 'I' && flags.find_first_of("RDUNi") == std::string_view::npos;
}

/// Parses the description of an X.509 key: "Debian Secure Boot CA: 6ccece7e…: X509.rsa bb419ea1 []"
/// (asymmetric_key_describe in the kernel). Returns nothing for other keys.
std::optional<KernelKey> x509_key(std::uint32_t serial, std::string_view text) {
    const auto kind = text.rfind(": X509.");
    if (kind == std::string_view::npos)
        return std::nullopt;
    text = text.substr(0, kind);
    const auto colon = text.rfind(": ");
    if (colon == std::string_view::npos)
        return std::nullopt;
    const std::string_view id = text.substr(colon + 2);
    if (id.empty() || !base::is_hex(id))
        return std::nullopt;
    return KernelKey{serial, std::string(text.substr(0, colon)), std::string(id), {}};
}

/// Parses the description of a keyring: ".builtin_trusted_keys: 2" or ".machine: empty". Returns nothing for
/// keyrings that users can create.
std::optional<Keyring> kernel_keyring(std::uint32_t serial, std::string_view text) {
    const std::string_view name = text.substr(0, text.find(':'));
    if (name.size() < 2 || name.front() != '.')
        return std::nullopt;
    return Keyring{serial, std::string(name)};
}

void add_line(KernelKeys& keys, std::string_view line) {
    std::array<std::string_view, 8> words; // number, flags, uses, timeout, permissions, uid, gid, type
    for (std::string_view& word : words)
        word = next_word(line);
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const auto serial = words[0].size() == 8 ? base::parse_uint(words[0], 16) : std::nullopt;
    if (!serial || !is_usable(words[1]) || words[5] != "0")
        return;
    const auto number = static_cast<std::uint32_t>(*serial);
    if (words[7] == "asymmetri") { // "asymmetric" in a column of nine characters
        if (auto key = x509_key(number, line))
            keys.keys.push_back(std::move(*key));
    } else if (words[7] == "keyring") {
        if (auto keyring = kernel_keyring(number, line))
            keys.keyrings.push_back(std::move(*keyring));
    }
}

} // namespace

KernelKeys parse_proc_keys(std::string_view text) {
    KernelKeys keys;
    while (!text.empty()) {
        const auto end = text.find('\n');
        add_line(keys, text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return keys;
}

std::optional<KernelKeys> kernel_keys(const base::Root& root) {
    const auto text = root.read("/proc/keys", keys_limit);
    if (!text)
        return std::nullopt;
    KernelKeys keys = parse_proc_keys(*text);
    keys.in_keyrings = !keys.keyrings.empty();
    for (const Keyring& keyring : keys.keyrings) {
        const auto members = keyring_members(root, keyring);
        keys.in_keyrings = keys.in_keyrings && members.has_value();
        for (KernelKey& key : keys.keys)
            if (members && std::find(members->begin(), members->end(), key.serial) != members->end())
                key.keyrings.push_back(keyring.name);
    }
    return keys;
}

} // namespace gpuhost::kmod
