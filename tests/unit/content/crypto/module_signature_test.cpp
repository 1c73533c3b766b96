// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/process.hpp"
#include "daemon/content/crypto/cms.hpp"
#include "daemon/content/crypto/module_certificate.hpp"
#include "daemon/content/crypto/module_signature.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "tests/support/elf_images.hpp"
#include "tests/support/pki.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/content/module_key.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

using base::Errc;

const std::string image = "The image of a module.\n";

SigningKey key() {
    return SigningKey::from_pem(tests::module_key, tests::module_certificate, "").value();
}

ModuleCertificate certificate() {
    return read_module_certificate(tests::module_certificate, "certificate").value();
}

std::string sign(const std::string& hash = "sha256") {
    return image + key().sign_module(image, hash).value();
}

TEST(ModuleSignatureTest, ReadsSignerDigestAndCoveredSize) {
    const auto signature = read_module_signature(sign("sha512"), "a.ko").value();
    ASSERT_TRUE(signature);
    EXPECT_EQ(signature->covered, image.size());
    EXPECT_EQ(signature->hash, "sha512");
    EXPECT_EQ(signature->signer.issuer, "CN=Module test key,O=Site");
    EXPECT_EQ(signature->signer.name, "Module test key");
    EXPECT_EQ(signature->signer.serial, "123456789abcdef");
    EXPECT_EQ(signature->signer.key_id, "");
    const ModuleCertificate signer = certificate();
    EXPECT_EQ(signer.issuer, signature->signer.issuer);
    EXPECT_EQ(signer.serial, signature->signer.serial);
    EXPECT_EQ(signer.key_id, "ca7bbbaf442914bb0e927813288833138b32eafd");
    EXPECT_EQ(signer.name, "Module test key");
    EXPECT_TRUE(signer.signs && signer.signs_code);
    EXPECT_EQ(read_module_certificate(signer.der, "the same").value().key_id, signer.key_id);
}

TEST(ModuleSignatureTest, UnsignedModuleHasNoSignature) {
    EXPECT_FALSE(read_module_signature(image, "a.ko").value());
    EXPECT_FALSE(read_module_signature("", "a.ko").value());
}

/// Expects the digests that scripts/sign-file of Linux 6.1 gives for the same image and key.
TEST(ModuleSignatureTest, SignatureEqualsThatOfLinux61SignFile) {
    EXPECT_EQ(sha256(sign("sha256")), "396a91019c765f37f314b734098c219b0ed8b3d198b7f72a0f45520649df5e1b");
    EXPECT_EQ(sha256(sign("sha384")), "2fe32803faaa1cd192da5f6216d8dfea20826fb0ece0e04fea65593c460b6fe7");
    EXPECT_EQ(sha256(sign("sha512")), "394e1ad68ee468573eaae12da0a8d2b76aa2ff8df1fae1e94b79bcf1727db828");
    EXPECT_EQ(key().sign_module(image, "md5").error().code, Errc::InvalidArgument);
}

std::string sign_file_program() {
    for (const auto& directory : std::filesystem::directory_iterator("/usr/lib"))
        if (directory.path().filename().string().rfind("linux-kbuild-", 0) == 0)
            return (directory.path() / "scripts/sign-file").string();
    return {};
}

TEST(ModuleSignatureTest, SignatureEqualsThatOfInstalledSignFile) {
    const std::string program = sign_file_program();
    if (program.empty())
        GTEST_SKIP() << "no linux-kbuild";
    const tests::TempDir directory;
    directory.write("key.pem", tests::module_key);
    directory.write("certificate.pem", tests::module_certificate);
    const std::string large = tests::nvidia_module("nvidia", "550.163.01", "6.1.0-50-amd64") +
                              std::string(std::size_t{3} << 20U, 'x');
    const auto run = [&](std::vector<std::string> options) {
        directory.write("nvidia.ko", large);
        base::Command command;
        command.argv = {program};
        command.argv.insert(command.argv.end(), options.begin(), options.end());
        for (const char* file : {"key.pem", "certificate.pem", "nvidia.ko"})
            command.argv.push_back(directory.path(file));
        const auto finished = base::run(command);
        EXPECT_TRUE(finished && finished->exit_status == 0);
        return directory.read("nvidia.ko");
    };
    for (const char* hash : {"sha256", "sha384", "sha512"})
        EXPECT_TRUE(large + key().sign_module(large, hash).value() == run({hash})) << hash;
    const auto by_key = read_module_signature(run({"-k", "sha256"}), "nvidia.ko").value();
    ASSERT_TRUE(by_key);
    EXPECT_EQ(by_key->signer.key_id, certificate().key_id);
    EXPECT_EQ(by_key->signer.issuer, "");
}

TEST(ModuleSignatureTest, ModifiedModuleOrOtherKeyIsRefused) {
    std::string file = sign();
    const auto signature = read_module_signature(file, "a.ko").value();
    ASSERT_TRUE(signature);
    EXPECT_TRUE(verify_module_signature(file, *signature, certificate().der, "a.ko"));
    const auto other = read_module_certificate(tests::make_identity({}).certificate, "x").value();
    EXPECT_EQ(verify_module_signature(file, *signature, other.der, "a.ko").error().code, Errc::AccessDenied);
    file[3] ^= 1;
    const auto changed = verify_module_signature(file, *signature, certificate().der, "a.ko");
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, Errc::AccessDenied);
    EXPECT_NE(changed.error().message.find("a.ko"), std::string::npos);
    EXPECT_EQ(verify_module_signature(file, *signature, "no certificate", "a.ko").error().code,
              Errc::BadContent);
}

TEST(ModuleSignatureTest, ExpiredCertificateStillVerifies) {
    tests::CertificateRequest request;
    request.from = -7200;
    request.until = -3600;
    const tests::Identity identity = tests::make_identity(request);
    const SigningKey expired = SigningKey::from_pem(identity.key, identity.certificate, "").value();
    const std::string file = image + expired.sign_module(image, "sha256").value();
    EXPECT_TRUE(verify_module_signature(file, *read_module_signature(file, "a.ko").value(),
                                        read_module_certificate(identity.certificate, "x").value().der,
                                        "a.ko"));
}

Errc refused(const std::string& file) {
    const auto read = read_module_signature(file, "a.ko");
    return read ? Errc::Failed : read.error().code;
}

TEST(ModuleSignatureTest, MalformedSignaturesAreRefusedOrCountAsUnsigned) {
    const std::string file = sign();
    const std::size_t trailer = file.size() - 28 - 12;
    const auto with = [&](std::size_t at, char byte) {
        std::string changed = file;
        changed[trailer + at] = byte;
        return changed;
    };
    EXPECT_EQ(refused(with(2, 1)), Errc::Unsupported) << "an X.509 signature of Linux 4.2";
    for (const std::size_t at : {0U, 1U, 3U, 4U, 5U, 7U})
        EXPECT_EQ(refused(with(at, 1)), Errc::BadContent) << at;
    EXPECT_EQ(refused(with(8, '\x7f')), Errc::BadContent) << "longer than the file";
    EXPECT_EQ(refused(file.substr(file.size() - 28)), Errc::BadContent);
    EXPECT_EQ(refused(tests::with_signature(image, "DER BYTES")), Errc::BadContent);
    EXPECT_EQ(refused(tests::with_signature(image, "")), Errc::BadContent);
    EXPECT_EQ(refused(tests::with_signature(image, std::string(70'000, '0'))), Errc::BadContent);
    const tests::Identity identity = tests::make_identity({});
    EXPECT_EQ(refused(tests::with_signature(image, tests::sign_with_digest(identity, image, "SHA256", true))),
              Errc::BadContent)
        << "signed attributes";
    EXPECT_EQ(refused(tests::with_signature(image, tests::sign_with_digest(identity, image, "SHA256"))),
              Errc::BadContent)
        << "the content is embedded";
}

TEST(ModuleCertificateTest, CertificateUsesAreReadAndBadFilesRefused) {
    tests::CertificateRequest request;
    request.key_usage = "critical,keyAgreement";
    request.extended_usage = "serverAuth";
    const auto facts = read_module_certificate(tests::make_identity(request).certificate, "x").value();
    EXPECT_FALSE(facts.signs || facts.signs_code);
    const auto none = read_module_certificate("-----BEGIN nothing", "site.pem");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::BadContent);
    EXPECT_NE(none.error().message.find("site.pem"), std::string::npos);
    EXPECT_FALSE(read_module_certificate(facts.der + "x", "more behind it"));
}

TEST(ModuleCertificateTest, GeneratedKeySignsCodeForAHundredYears) {
    const ModuleIdentity made = make_module_identity("Kernel modules of a").value();
    const ModuleCertificate facts = read_module_certificate(made.certificate, "x").value();
    EXPECT_EQ(facts.der, made.certificate);
    EXPECT_EQ(facts.name, "Kernel modules of a");
    EXPECT_TRUE(facts.signs && facts.signs_code);
    EXPECT_EQ(facts.key_id.size(), 40U);
    EXPECT_EQ(facts.serial.size(), 32U);
    EXPECT_GT(facts.until, 4'900'000'000U) << "the year 2125";
    EXPECT_TRUE(SigningKey::from_pem(made.key, facts.pem, "").value().sign_module(image, "sha256"));
    EXPECT_FALSE(make_module_identity(std::string(100, 'x'))) << "X.509 ends at 64 characters";
}

} // namespace
} // namespace gpuhost::content
