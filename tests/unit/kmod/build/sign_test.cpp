// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/cms.hpp"
#include "daemon/content/crypto/module_certificate.hpp"
#include "daemon/content/crypto/module_signature.hpp"
#include "kmod/build/sign.hpp"
#include "kmod/store/manifest.hpp"
#include "kmod/trust/secure_boot.hpp"
#include "tests/support/pki.hpp"
#include "tests/unit/kmod/store_fixture.hpp"

#include <sys/stat.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;

class SignTest : public StoreTest {
  protected:
    SignTest() {
        signing_ = {"/etc/gpuhost/site.key", "/etc/gpuhost/site.pem", "sha512", ""};
        write_identity({});
    }
    void write_identity(tests::CertificateRequest request) {
        request.name = "Site modules";
        identity_ = tests::make_identity(request);
        write_key(identity_.key);
        directory_.write("etc/gpuhost/site.pem", identity_.certificate);
    }
    void write_key(const std::string& key, mode_t mode = 0600) {
        directory_.write("etc/gpuhost/site.key", key);
        ASSERT_EQ(::chmod(directory_.path("etc/gpuhost/site.key").c_str(), mode), 0);
    }
    [[nodiscard]] Json args(const std::string& set = {}) const {
        Json made{{"version", test_version},
                  {"kernel", test_kernel},
                  {"flavour", "open"},
                  {"signing", to_json(signing_)}};
        if (!set.empty())
            made["set"] = set;
        return made;
    }
    std::string problems() {
        auto made = context();
        made.warn = [this](const std::string& text) { warnings_ += text; };
        std::string texts;
        const std::vector<core::Problem> found = code("build.sign").preflight(made, args()).value();
        for (const core::Problem& problem : found) {
            EXPECT_FALSE(problem.hint.empty()) << problem.text;
            texts += problem.text + ";";
        }
        return texts;
    }
    /// Expects that each module of the newest set has a valid signature of the site's key.
    void expect_signed(const std::string& hash) {
        const Store now = store();
        const ModuleSet* const set = now.modules_for(test_version, test_kernel);
        ASSERT_NE(set, nullptr);
        const auto certificate = content::read_module_certificate(identity_.certificate, "x").value();
        for (const ModuleFile& module : set->modules) {
            EXPECT_EQ(module.signer, "Site modules");
            const std::string file = root_.read(set->path + "/" + module.file).value();
            const auto signature = content::read_module_signature(file, module.file).value();
            ASSERT_TRUE(signature) << module.file;
            EXPECT_EQ(signature->hash, hash);
            EXPECT_TRUE(content::verify_module_signature(file, *signature, certificate.der, module.file));
        }
    }

    SigningSettings signing_;
    tests::Identity identity_;
    std::string warnings_;
};

TEST_F(SignTest, StagedModulesAreSignedInPlace) {
    ASSERT_TRUE(stage(modules()));
    const auto made = apply("build.sign", args());
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->at("signed"), 2);
    EXPECT_EQ(root_.list(staging_).value(), std::vector<std::string>{"modules"});
    EXPECT_EQ(apply("build.sign", args())->at("signed"), 0) << "a second run signs nothing";
    ASSERT_TRUE(apply("store.publish", {{"version", test_version}, {"kernels", {test_kernel}}}));
    expect_signed("sha512");
}

TEST_F(SignTest, SetInTheStoreGetsASignedCopy) {
    ASSERT_TRUE(import(modules()));
    const Store before = store();
    const std::string path = before.modules_for(test_version, test_kernel)->path;
    const std::string image = root_.read(path + "/nvidia.ko").value();
    const auto made = apply("build.sign", args(path));
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_TRUE(apply("store.publish"));
    expect_signed("sha512");
    EXPECT_EQ(root_.read(path + "/nvidia.ko").value(), image) << "a published set does not change";
    EXPECT_EQ(store().versions[0].modules.size(), 2U);
}

TEST_F(SignTest, SignedModulesAreKept) {
    const tests::Identity vendor = tests::make_identity({});
    const auto key = content::SigningKey::from_pem(vendor.key, vendor.certificate, "").value();
    Inputs inputs = modules();
    inputs[0].second += key.sign_module(inputs[0].second, "sha256").value();
    const std::string content = inputs[0].second;
    ASSERT_TRUE(stage(inputs));
    EXPECT_EQ(apply("build.sign", args())->at("signed"), 1);
    EXPECT_EQ(root_.read(staging_ + "/modules/" + test_kernel + "-open/nvidia.ko").value(), content);
}

TEST_F(SignTest, UnreadableSignatureIsAnError) {
    Inputs inputs = modules();
    inputs[0].second += "no signature" + std::string(content::module_signature_magic);
    ASSERT_TRUE(stage(inputs));
    const auto made = apply("build.sign", args());
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("nvidia.ko: cannot read the signature at its end"), std::string::npos)
        << made.error().message;
}

TEST_F(SignTest, ModifiedModuleIsNotSigned) {
    ASSERT_TRUE(stage(modules()));
    directory_.write(staging_.substr(1) + "/modules/" + test_kernel + "-open/nvidia.ko", "something else");
    expect_error(apply("build.sign", args()), Errc::BadContent, "digest mismatch");
}

TEST_F(SignTest, UnusableKeyFailsTheBuild) {
    ASSERT_TRUE(stage(modules()));
    directory_.write("etc/gpuhost/site.pem", tests::make_identity({}).certificate);
    expect_error(apply("build.sign", args()), Errc::InvalidArgument, "does not belong");
    ASSERT_TRUE(root_.remove("/etc/gpuhost/site.key"));
    EXPECT_FALSE(apply("build.sign", args()));
}

TEST_F(SignTest, EncryptedKeyNeedsItsPassphrase) {
    ASSERT_TRUE(stage(modules()));
    write_key(tests::encrypted_key(identity_, "secret"));
    EXPECT_NE(problems().find("cannot sign modules"), std::string::npos);
    expect_error(apply("build.sign", args()), Errc::AccessDenied, "key");
    signing_.passphrase_file = "/etc/gpuhost/site.pass";
    directory_.write("etc/gpuhost/site.pass", "secret\n");
    EXPECT_NE(problems().find("site.pass: permissions too open"), std::string::npos);
    ASSERT_EQ(::chmod(directory_.path("etc/gpuhost/site.pass").c_str(), 0600), 0);
    EXPECT_EQ(problems(), "");
    EXPECT_TRUE(apply("build.sign", args()));
}

TEST_F(SignTest, PreflightChecksKeyCertificateAndKernel) {
    EXPECT_EQ(problems(), "");
    directory_.write("boot/config-" + test_kernel, "CONFIG_A=y\n# CONFIG_CRYPTO_SHA512 is not set\n");
    EXPECT_NE(problems().find("without sha512"), std::string::npos);
    signing_.hash = "sha256";
    EXPECT_EQ(problems(), "");
    write_key(identity_.key, 0644);
    EXPECT_NE(problems().find("permissions too open"), std::string::npos);
    directory_.write("etc/gpuhost/site.pem", tests::make_identity({}).certificate);
    write_key(identity_.key);
    EXPECT_NE(problems().find("does not belong"), std::string::npos);
    tests::CertificateRequest request;
    request.extended_usage = "serverAuth";
    write_identity(request);
    EXPECT_NE(problems().find("not for signing code"), std::string::npos);
    EXPECT_EQ(warnings_, "");
    request.extended_usage = "codeSigning";
    request.from = -7200;
    request.until = -3600;
    write_identity(request);
    EXPECT_EQ(problems(), "");
    EXPECT_NE(warnings_.find("expired"), std::string::npos);
}

TEST_F(SignTest, StatusShowsWhichSetsTheKernelAccepts) {
    ASSERT_TRUE(import(modules()));
    ASSERT_TRUE(import(modules("535.261.03")));
    ASSERT_TRUE(apply("build.sign", args(store().modules_for(test_version, test_kernel)->path)));
    ASSERT_TRUE(apply("store.publish"));
    directory_.write("proc/sys/kernel/osrelease", test_kernel + "\n");
    directory_.write("sys/module/module/parameters/sig_enforce", "Y\n");
    directory_.write("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                     std::string("\x06\0\0\0\x01", 5));
    const auto site = content::read_module_certificate(identity_.certificate, "x").value();
    directory_.write("proc/keys",
                     "00000100 I------     1 perm 1f030000     0     0 asymmetri Site modules: " +
                         site.key_id + ": X509.rsa 00 []\n");
    DriverSettings settings;
    settings.flavour = "any";
    settings.signing = signing_;
    const SecureBoot boot = read_secure_boot(root_, settings).value();
    EXPECT_EQ(boot.state, "enabled");
    ASSERT_EQ(boot.sets.size(), 2U) << "one set of each version; no set is selected";
    EXPECT_EQ(boot.sets[0].version, test_version);
    EXPECT_TRUE(boot.sets[0].problems.empty()) << boot.sets[0].problems[0].text;
    EXPECT_EQ(boot.sets[1].problems.size(), 2U) << "no module of the other set is signed";
    const Json document = to_json(boot);
    EXPECT_EQ(document["certificate"]["kernel"], "known");
    EXPECT_EQ(document["keys"][0]["name"], "Site modules");
    EXPECT_EQ(document["keyrings_known"], false);
    settings.signing.certificate = "/nowhere";
    EXPECT_NE(read_secure_boot(root_, settings)->site_error.find("/nowhere"), std::string::npos);
    settings.flavour = "proprietary";
    EXPECT_TRUE(read_secure_boot(root_, settings)->sets.empty()) << "a swap would use none of these sets";
}

} // namespace
} // namespace gpuhost::kmod
