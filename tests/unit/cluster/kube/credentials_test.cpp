// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/credential_text.hpp"
#include "daemon/cluster/kube/credentials.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::cluster {
namespace {

using tests::pem;

class CredentialsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        write("ca.crt", pem("CERTIFICATE"));
        write("node.pem", pem("CERTIFICATE") + pem("PRIVATE KEY"));
        write("token", " secret\n");
        write("k.conf", "");
    }

    void write(const std::string& name, const std::string& text, mode_t mode = 0600) {
        directory_.write("etc/" + name, text);
        ASSERT_EQ(::chmod((directory_.path() + "/etc/" + name).c_str(), mode), 0);
    }
    [[nodiscard]] std::string fingerprint() const {
        return credentials_fingerprint(root_, "/etc/k.conf", config_);
    }
    [[nodiscard]] std::string problem() const {
        const auto credentials = read_credentials(root_, config_);
        return credentials ? "" : credentials.error().message;
    }

    gpuhost::tests::TempDir directory_;
    base::Root root_ = directory_.root();
    Kubeconfig config_{"here",
                       "site",
                       "host",
                       "https://a",
                       "",
                       "",
                       {"", "/etc/ca.crt"},
                       {"", "/etc/node.pem"},
                       {"", "/etc/node.pem"},
                       {"", "/etc/token"}};
};

TEST_F(CredentialsTest, ReadsCredentialsFromFiles) {
    const auto credentials = read_credentials(root_, config_);
    ASSERT_TRUE(credentials) << credentials.error().message;
    const std::string node = pem("CERTIFICATE") + pem("PRIVATE KEY");
    EXPECT_EQ(*credentials, (Credentials{pem("CERTIFICATE"), node, node, "secret"}));
}

TEST_F(CredentialsTest, ReadsCredentialsEmbeddedInTheKubeconfig) {
    config_.authority = {"authorities", ""};
    config_.certificate = config_.key = {};
    config_.token = {"t", ""};
    const auto credentials = read_credentials(root_, config_);
    ASSERT_TRUE(credentials) << credentials.error().message;
    EXPECT_EQ(*credentials, (Credentials{"authorities", "", "", "t"}));
}

TEST_F(CredentialsTest, ErrorsNameTheWrongFile) {
    write("ca.crt", pem("PRIVATE KEY"));
    EXPECT_EQ(problem(), "certificate-authority: /etc/ca.crt: has no certificate in PEM");
    write("ca.crt", pem("CERTIFICATE"));
    write("node.pem", pem("CERTIFICATE"));
    EXPECT_EQ(problem(), "client-key: /etc/node.pem: has no private key in PEM");
    write("node.pem", pem("CERTIFICATE") + pem("PRIVATE KEY"));
    write("token", "\n");
    EXPECT_EQ(problem(), "tokenFile: /etc/token: is empty");
    write("token", "two words");
    EXPECT_EQ(problem(), "tokenFile: /etc/token: has blanks or control characters");
    ASSERT_TRUE(root_.remove("/etc/token"));
    EXPECT_EQ(problem(), "tokenFile: /etc/token: No such file or directory");
}

TEST_F(CredentialsTest, SizesAreLimited) {
    write("token", std::string(64U << 10U, 'x'));
    EXPECT_EQ(problem(), "");
    write("token", std::string((64U << 10U) + 1, 'x'));
    EXPECT_NE(problem().find("/etc/token"), std::string::npos);
    write("token", "x");
    write("ca.crt", pem("CERTIFICATE") + std::string(1U << 20U, '\n'));
    EXPECT_NE(problem().find("/etc/ca.crt"), std::string::npos);
}

TEST_F(CredentialsTest, PipeIsRefusedWithoutBlocking) {
    ASSERT_TRUE(root_.remove("/etc/token"));
    ASSERT_EQ(::mkfifo((directory_.path() + "/etc/token").c_str(), 0600), 0);
    EXPECT_EQ(problem(), "tokenFile: /etc/token: is a pipe, not a file");
}

TEST_F(CredentialsTest, FingerprintChangesWithEachFile) {
    std::set<std::string> seen{fingerprint()};
    EXPECT_EQ(fingerprint(), *seen.begin());
    for (const char* name : {"k.conf", "ca.crt", "node.pem", "token"}) {
        ASSERT_TRUE(root_.write_atomic("/etc/" + std::string(name), "another", 0600));
        EXPECT_TRUE(seen.insert(fingerprint()).second) << name << " was replaced";
        write(name, "longer than another");
        EXPECT_TRUE(seen.insert(fingerprint()).second) << name << " was changed in place";
        ASSERT_TRUE(root_.remove("/etc/" + std::string(name)));
        EXPECT_TRUE(seen.insert(fingerprint()).second) << name << " was removed";
    }
}

TEST_F(CredentialsTest, FingerprintChangesWithTheLinkTarget) {
    write("node-2.pem", "x");
    ASSERT_TRUE(root_.symlink_atomic("node.pem", "/etc/current"));
    config_.certificate.path = config_.key.path = "/etc/current";
    const std::string before = fingerprint();
    ASSERT_TRUE(root_.symlink_atomic("node-2.pem", "/etc/current"));
    EXPECT_NE(fingerprint(), before);
}

TEST_F(CredentialsTest, WorldReadableSecretsAreNoted) {
    EXPECT_EQ(credentials_notes(root_, "/etc/k.conf", config_), std::vector<std::string>());
    for (const char* name : {"k.conf", "ca.crt", "token"})
        write(name, "x", 0644);
    EXPECT_EQ(
        credentials_notes(root_, "/etc/k.conf", config_),
        std::vector<std::string>{"every user of this host can read /etc/token, which has a token: chmod o-r "
                                 "/etc/token"});
    config_.key = {"key", ""};
    config_.token = {"t", ""};
    EXPECT_EQ(credentials_notes(root_, "/etc/k.conf", config_),
              std::vector<std::string>{
                  "every user of this host can read /etc/k.conf, which has a private key: chmod o-r "
                  "/etc/k.conf"});
    EXPECT_EQ(credentials_notes(root_, "/etc/absent", config_), std::vector<std::string>());
}

TEST(CredentialText, CertificatesAreFoundBetweenOtherText) {
    EXPECT_TRUE(check_certificates("Subject: me\n" + pem("CERTIFICATE"), "x"));
    EXPECT_TRUE(check_certificates(pem("PRIVATE KEY") + pem("CERTIFICATE"), "x"));
    EXPECT_TRUE(check_certificates(pem("CERTIFICATE", "!\n") + pem("CERTIFICATE"), "x"));
    std::string windows = pem("CERTIFICATE");
    for (std::size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2)
        windows.insert(at, "\r");
    EXPECT_TRUE(check_certificates(windows, "x"));
    for (const std::string& text :
         {std::string(), std::string("-----BEGIN CERTIFICATE-----"), pem("CERTIFICATE", ""),
          pem("CERTIFICATE", "!\n"), pem("CERTIFICATE", "AAAA\n"), pem("CERTIFICATE", "A: b\n\nMAMCAQE=\n"),
          pem("TRUSTED CERTIFICATE"), " " + pem("CERTIFICATE"), pem("CERTIFICATE").substr(0, 50),
          std::string("0\x03\x02\x01\x01")})
        EXPECT_FALSE(check_certificates(text, "x")) << text;
}

TEST(CredentialText, AcceptsAllKeyLabelsButNotEncryptedKeys) {
    for (const char* label : {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"})
        EXPECT_TRUE(check_private_key(pem("EC PARAMETERS", "BgUrgQQAIg==\n") + pem(label), "x")) << label;
    const std::string locked = pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\nMAMCAQE=\n");
    for (const std::string& text : {pem("ENCRYPTED PRIVATE KEY"), locked}) {
        const auto checked = check_private_key(text, "x");
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().code, base::Errc::Refused);
    }
    for (const std::string& text :
         {pem("PUBLIC KEY"), pem("CERTIFICATE"), std::string(), pem("PRIVATE KEY", "-\n")})
        EXPECT_FALSE(check_private_key(text, "x")) << text;
}

} // namespace
} // namespace gpuhost::cluster
