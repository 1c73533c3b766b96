// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/credentials.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::cluster {
namespace {

using tests::certificate;
using tests::key;

class CredentialsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        write("ca.crt", certificate);
        write("node.pem", certificate + key);
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
    const std::string node = certificate + key;
    EXPECT_EQ(*credentials, (Credentials{certificate, node, node, "secret"}));
    EXPECT_EQ(expiry_of(*credentials), 4'949'413'219U) << "Nov  3 21:00:19 2126 GMT";
}

TEST_F(CredentialsTest, ReadsCredentialsEmbeddedInTheKubeconfig) {
    config_.authority = {"authorities", ""};
    config_.certificate = config_.key = {};
    config_.token = {"t", ""};
    const auto credentials = read_credentials(root_, config_);
    ASSERT_TRUE(credentials) << credentials.error().message;
    EXPECT_EQ(*credentials, (Credentials{"authorities", "", "", "t"}));
    EXPECT_EQ(expiry_of(*credentials), 0U) << "a token has no end that is known here";
}

TEST_F(CredentialsTest, ErrorsNameTheWrongFile) {
    write("ca.crt", key);
    EXPECT_EQ(problem(), "certificate-authority: /etc/ca.crt: has no valid certificate in PEM");
    write("ca.crt", certificate);
    write("node.pem", certificate);
    EXPECT_EQ(problem(), "client-key: /etc/node.pem: has no valid private key in PEM");
    write("node.pem", certificate + key);
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
    write("ca.crt", certificate + std::string(1U << 20U, '\n'));
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

} // namespace
} // namespace gpuhost::cluster
