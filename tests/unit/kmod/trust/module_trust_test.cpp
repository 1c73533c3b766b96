// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/cms.hpp"
#include "kmod/module/kernel_config.hpp"
#include "kmod/trust/module_trust.hpp"
#include "tests/support/elf_images.hpp"
#include "tests/support/pki.hpp"
#include "tests/support/tmpdir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using testing::HasSubstr;

class ModuleTrust : public testing::Test {
  protected:
    ModuleTrust() {
        rules_.enforcement = "module.sig_enforce is set";
        rules_.keys = KernelKeys{};
        rules_.keys->in_keyrings = true;
    }
    static tests::Identity identity(const std::string& name, const tests::Identity* issuer = nullptr,
                                    long serial = 7) {
        tests::CertificateRequest request;
        request.name = name;
        request.serial = serial;
        request.authority = issuer == nullptr;
        return tests::make_identity(request, issuer);
    }
    static content::ModuleCertificate certificate(const tests::Identity& identity) {
        return content::read_module_certificate(identity.certificate, "test").value();
    }
    static std::string signed_by(const tests::Identity& identity, const std::string& hash = "sha256") {
        const std::string image = tests::nvidia_module("nvidia", "550.163.01", "6.1.0-50-amd64");
        const auto key = content::SigningKey::from_pem(identity.key, identity.certificate, "");
        return image + key->sign_module(image, hash).value();
    }
    void kernel_has(const tests::Identity& identity, const std::string& keyring,
                    const std::string& organization = {}) {
        const content::ModuleCertificate known = certificate(identity);
        rules_.keys->keys.push_back({1, organization + known.name, known.key_id, {keyring}});
    }
    std::string judge(const std::string& file) {
        warnings_.clear();
        const auto problem =
            signature_problem("nvidia", file, rules_, [this](const std::string& text) { warnings_ += text; });
        if (!problem)
            return "";
        EXPECT_FALSE(problem->hint.empty());
        EXPECT_NE(problem->text.find("nvidia"), std::string::npos) << problem->text;
        return std::string(base::info(problem->code).name) + " " + problem->text;
    }

    TrustRules rules_;
    std::string warnings_;
};

TEST_F(ModuleTrust, UnsignedModuleIsRefusedWithEnforcement) {
    const std::string file = tests::nvidia_module("nvidia", "550.163.01", "6.1");
    EXPECT_THAT(judge(file), HasSubstr("access-denied"));
    EXPECT_THAT(judge(file), HasSubstr("is not signed"));
    EXPECT_THAT(judge(file), HasSubstr("sig_enforce"));
    rules_.enforcement.clear();
    EXPECT_EQ(judge(file), "");
}

TEST_F(ModuleTrust, CertificateLinksTheSignatureToAKey) {
    const tests::Identity ca = identity("Site CA");
    const tests::Identity signer = identity("Site modules", &ca, 99);
    rules_.certificates.push_back(certificate(signer));
    const std::string file = signed_by(signer);
    const std::string refused = judge(file);
    EXPECT_THAT(refused, HasSubstr("'Site modules' (key " + certificate(signer).key_id));
    EXPECT_THAT(refused, HasSubstr("sig_enforce"));
    kernel_has(ca, ".builtin_trusted_keys"); // the key of an issuer is a different key
    EXPECT_NE(judge(file), "");
    kernel_has(signer, ".machine");
    EXPECT_EQ(judge(file), "");
    EXPECT_EQ(warnings_, "");
}

TEST_F(ModuleTrust, KeyringDecidesOverTrust) {
    const tests::Identity signer = identity("Site modules");
    rules_.certificates.push_back(certificate(signer));
    const std::string file = signed_by(signer);
    for (const char* keyring : {".builtin_trusted_keys", ".secondary_trusted_keys", ".machine"}) {
        rules_.keys->keys.clear();
        kernel_has(signer, keyring);
        EXPECT_EQ(judge(file), "") << keyring;
    }
    rules_.keys->keys.clear();
    kernel_has(signer, ".ima");
    EXPECT_NE(judge(file), "");
    rules_.keys->in_keyrings = false; // the kernel does not report keyrings
    EXPECT_EQ(judge(file), "");
    rules_.keys->in_keyrings = true;
    rules_.keys->keys.clear();
    kernel_has(signer, ".platform");
    EXPECT_EQ(judge(file), "");
    EXPECT_THAT(warnings_, HasSubstr(".platform"));
    rules_.keys.reset();
    EXPECT_EQ(judge(file), "");
    EXPECT_THAT(warnings_, HasSubstr("/proc/keys"));
}

TEST_F(ModuleTrust, BlacklistedKeyIsAlwaysRefused) {
    const tests::Identity signer = identity("Site modules");
    rules_.certificates.push_back(certificate(signer));
    rules_.enforcement.clear();
    kernel_has(signer, ".builtin_trusted_keys");
    EXPECT_EQ(judge(signed_by(signer)), "");
    kernel_has(signer, ".blacklist");
    EXPECT_THAT(judge(signed_by(signer)), HasSubstr(".blacklist"));
}

TEST_F(ModuleTrust, WithoutACertificateKeysMatchByName) {
    const std::string file = signed_by(identity("Debian Secure Boot Signer"));
    EXPECT_THAT(judge(file), HasSubstr("a certificate of 'Debian Secure Boot Signer' (serial number 7)"));
    kernel_has(identity("Secure Boot Signer"), ".builtin_trusted_keys", "Debian ");
    EXPECT_EQ(judge(file), "");
    rules_.keys->keys.clear();
    kernel_has(identity("Debian Secure Boot Signer"), ".builtin_trusted_keys", "Debian: ");
    EXPECT_EQ(judge(file), "") << "organization and name";
    rules_.keys->keys.clear();
    kernel_has(identity("Signer"), ".builtin_trusted_keys");
    EXPECT_NE(judge(file), "");
}

TEST_F(ModuleTrust, MismatchingSignatureIsRefusedWithKnownKey) {
    const tests::Identity signer = identity("Site modules");
    rules_.certificates.push_back(certificate(signer));
    kernel_has(signer, ".machine");
    std::string file = signed_by(signer);
    file[file.find("550.163.01")] = '6';
    EXPECT_THAT(judge(file), HasSubstr("does not match"));
    rules_.enforcement.clear();
    EXPECT_THAT(judge(file), HasSubstr("does not match")) << "the kernel has the key and verifies";
    rules_.keys->keys.clear();
    EXPECT_EQ(judge(file), "") << "the kernel does not have the key and only taints";
}

TEST_F(ModuleTrust, MalformedSignatureIsAlwaysRefused) {
    rules_.enforcement.clear();
    const std::string image = tests::nvidia_module("nvidia", "550.163.01", "6.1");
    EXPECT_THAT(judge(tests::with_signature(image, "DER")), HasSubstr("malformed"));
    std::string other_type = tests::with_signature(image, "DER");
    other_type[other_type.size() - 28 - 12 + 2] = 1;
    EXPECT_EQ(judge(other_type), "");
    rules_.enforcement = "locked down";
    EXPECT_THAT(judge(other_type), HasSubstr("locked down"));
}

TEST_F(ModuleTrust, UnsupportedHashCountsAsUnsigned) {
    const tests::Identity signer = identity("Site modules");
    rules_.certificates.push_back(certificate(signer));
    kernel_has(signer, ".machine");
    rules_.config = "CONFIG_A=y\n# CONFIG_CRYPTO_SHA512 is not set\nCONFIG_CRYPTO_SHA256=m\n";
    EXPECT_THAT(judge(signed_by(signer, "sha384")), HasSubstr("sha384"));
    EXPECT_EQ(judge(signed_by(signer, "sha256")), "");
    rules_.enforcement.clear();
    EXPECT_EQ(judge(signed_by(signer, "sha512")), "");
    EXPECT_TRUE(supports_hash("", "sha512"));
}

TEST_F(ModuleTrust, SitesCertificateIsReadFromAFile) {
    const tests::TempDir directory;
    const base::Root root = base::Root::open(directory.path()).value();
    EXPECT_TRUE(add_certificate(rules_, root, ""));
    EXPECT_TRUE(rules_.certificates.empty());
    EXPECT_EQ(add_certificate(rules_, root, "/etc/gpuhost/site.pem").error().code, Errc::NotFound);
    directory.write("etc/gpuhost/site.pem", identity("Site modules").certificate);
    EXPECT_TRUE(add_certificate(rules_, root, "/etc/gpuhost/site.pem"));
    ASSERT_EQ(rules_.certificates.size(), 1U);
    EXPECT_EQ(rules_.certificates[0].name, "Site modules");
    directory.write("boot/config-6.1", "CONFIG_A=y\n");
    directory.write("proc/keys",
                    "36da847d I------     1 perm 1f0b0000     0     0 keyring   .machine: empty\n");
    directory.write("sys/module/module/parameters/sig_enforce", "Y\n");
    const TrustRules read = trust_rules(root, "6.1");
    EXPECT_THAT(read.enforcement, HasSubstr("sig_enforce"));
    EXPECT_EQ(read.config, "CONFIG_A=y\n");
    EXPECT_TRUE(read.keys && !read.keys->in_keyrings);
}

} // namespace
} // namespace gpuhost::kmod
