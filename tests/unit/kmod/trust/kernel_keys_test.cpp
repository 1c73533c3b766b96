// SPDX-License-Identifier: Apache-2.0
#include "kmod/trust/efi_signatures.hpp"
#include "kmod/trust/kernel_keys.hpp"
#include "tests/support/tmpdir.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

constexpr const char* proc_keys =
    "024722c8 I--Q---     1 perm 0c030000     0 65534 keyring   .user_reg: 2\n"
    "2b1c8f4e I------     1 perm 1f030000     0     0 asymmetri Debian Secure Boot CA: "
    "6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1: X509.rsa bb419ea1 []\n"
    "0a1b2c3d I------     1 perm 1f030000     0     0 asymmetri Site: Keys: 2026: "
    "ca7bbbaf442914bb0e927813288833138b32eafd: X509.ecdsa-nist-p256 8b32eafd []\n"
    "0a1b2c3e I------     1 perm 1f030000  1000  1000 asymmetri Debian Secure Boot CA: "
    "aaaa: X509.rsa aaaa []\n"
    "0a1b2c3f IR-----     1 perm 1f030000     0     0 asymmetri Revoked: bbbb: X509.rsa bbbb []\n"
    "0a1b2c40 I------     1 perm 1f030000     0     0 asymmetri Odd: not hex: X509.rsa bbbb []\n"
    "30cf5ed5 I------     1 perm 0f0b0000     0     0 blacklist bin:abcd: []\n"
    "36da847d I------     1 perm 1f0b0000     0     0 keyring   .builtin_trusted_keys: 2\n"
    "36da847e I------     1 perm 1f0b0000     0     0 keyring   _uid.0: empty\n"
    "36da847f I------     1   5d 1f0b0000     0     0 keyring   .machine: empty\n"
    "no line of it\n36da";

TEST(KernelKeysTest, ReadsKeysAndKeyringsFromProcKeys) {
    const KernelKeys keys = parse_proc_keys(proc_keys);
    ASSERT_EQ(keys.keys.size(), 2U);
    EXPECT_EQ(keys.keys[0].serial, 0x2b1c8f4eU);
    EXPECT_EQ(keys.keys[0].name, "Debian Secure Boot CA");
    EXPECT_EQ(keys.keys[0].id, "6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1");
    EXPECT_EQ(keys.keys[1].name, "Site: Keys: 2026");
    ASSERT_EQ(keys.keyrings.size(), 3U);
    EXPECT_EQ(keys.keyrings[1].name, ".builtin_trusted_keys");
    EXPECT_EQ(keys.keyrings[2].serial, 0x36da847fU);
    EXPECT_FALSE(keys.in_keyrings);
}

TEST(KernelKeysTest, KeyringsOfKeysAreReadFromTheKernel) {
    const tests::TempDir directory;
    const base::Root root = base::Root::open(directory.path()).value();
    EXPECT_FALSE(kernel_keys(root));
    directory.write("proc/keys", proc_keys);
    directory.write("fake-kernel/keyrings/.user_reg", "");
    directory.write("fake-kernel/keyrings/.builtin_trusted_keys", "2b1c8f4e 0a1b2c3f");
    KernelKeys keys = kernel_keys(root).value();
    EXPECT_FALSE(keys.in_keyrings) << ".machine could not be read";
    EXPECT_EQ(keys.keys[0].keyrings, std::vector<std::string>{".builtin_trusted_keys"});
    directory.write("fake-kernel/keyrings/.machine", "0a1b2c3d 2b1c8f4e");
    keys = kernel_keys(root).value();
    EXPECT_TRUE(keys.in_keyrings);
    EXPECT_EQ(keys.keys[0].keyrings, (std::vector<std::string>{".builtin_trusted_keys", ".machine"}));
    EXPECT_EQ(keys.keys[1].keyrings, std::vector<std::string>{".machine"});
}

std::string little_endian(std::uint32_t value) {
    std::string text;
    for (unsigned shift = 0; shift < 32; shift += 8)
        text += static_cast<char>(value >> shift);
    return text;
}

std::string signature_list(const std::string& type, const std::vector<std::string>& signatures) {
    std::string body;
    for (const std::string& signature : signatures)
        body += std::string(16, 'o') + signature;
    return type + little_endian(static_cast<std::uint32_t>(28 + body.size())) + little_endian(0) +
           little_endian(static_cast<std::uint32_t>(16 + signatures.front().size())) + body;
}

const std::string x509("\xa1\x59\xc0\xa5\xe4\x94\xa7\x4a\x87\xb5\xab\x15\x5c\x2b\xf0\x72", 16);

TEST(EfiSignaturesTest, CertificatesAreReadFromMixedLists) {
    const std::string lists = signature_list(std::string(16, 's'), {"a digest"}) +
                              signature_list(x509, {"one", "two"}) + signature_list(x509, {"three"});
    EXPECT_EQ(parse_signature_lists(lists), (std::vector<std::string>{"one", "two", "three"}));
    EXPECT_EQ(parse_signature_lists(lists.substr(0, lists.size() - 1)),
              (std::vector<std::string>{"one", "two"}));
    EXPECT_TRUE(parse_signature_lists("").empty());
    EXPECT_TRUE(
        parse_signature_lists(x509 + little_endian(28) + little_endian(0) + little_endian(16)).empty());
    EXPECT_TRUE(
        parse_signature_lists(x509 + little_endian(28) + little_endian(1) + little_endian(17)).empty());
    EXPECT_TRUE(parse_signature_lists(x509 + little_endian(0xffffffff) + little_endian(0) + little_endian(17))
                    .empty());
}

TEST(EfiSignaturesTest, MokTablePrecedesTheVariable) {
    const tests::TempDir directory;
    const base::Root root = base::Root::open(directory.path()).value();
    EXPECT_TRUE(firmware_certificates(root).empty());
    directory.write("sys/firmware/efi/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23",
                    "attr" + signature_list(x509, {"mok"}));
    directory.write("sys/firmware/efi/efivars/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f",
                    "attr" + signature_list(x509, {"db"}));
    EXPECT_EQ(firmware_certificates(root), (std::vector<std::string>{"mok", "db"}));
    directory.write("sys/firmware/efi/mok-variables/MokListRT", signature_list(x509, {"mok", "two"}));
    EXPECT_EQ(firmware_certificates(root), (std::vector<std::string>{"mok", "two", "db"}));
}

} // namespace
} // namespace gpuhost::kmod
