// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/client_certificate.hpp"
#include "tests/support/pki.hpp"

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

TEST(ClientCertificate, EachPrivateKeyIsDifferent) {
    const std::string key = make_private_key().value();
    EXPECT_NE(key.find("-----BEGIN PRIVATE KEY-----"), std::string::npos);
    EXPECT_NE(key, make_private_key().value());
}

TEST(ClientCertificate, RequestDigestDependsOnTheKeyOnly) {
    const std::string key = make_private_key().value();
    const auto request = request_certificate(key, {"gpuhost:hosts", "gpuhost:host:a"}).value();
    EXPECT_NE(request.pem.find("-----BEGIN CERTIFICATE REQUEST-----"), std::string::npos);
    EXPECT_EQ(request.digest.size(), 64U);
    EXPECT_EQ(request.digest, request_certificate(key, {"", "b"}).value().digest);
    EXPECT_NE(request.digest, request_certificate(make_private_key().value(), {"", "b"}).value().digest);
    EXPECT_EQ(request_certificate("no key", {"", "b"}).error().code, base::Errc::BadContent);
}

TEST(ClientCertificate, CertificateFactsHaveNameAndValidity) {
    tests::CertificateRequest wanted;
    wanted.name = "gpuhost:host:a";
    wanted.from = -1000;
    wanted.until = 5000;
    const tests::Identity identity = tests::make_identity(wanted);
    const auto facts = read_certificate(identity.key + identity.certificate, "a file").value();
    EXPECT_EQ(facts.name, "gpuhost:host:a");
    EXPECT_EQ(facts.until - facts.from, 6000U);
    EXPECT_EQ(facts.digest, request_certificate(identity.key, {"", "x"}).value().digest);
    const auto none = read_certificate(identity.key, "a file");
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().code, base::Errc::BadContent);
    EXPECT_NE(none.error().message.find("a file"), std::string::npos);
}

TEST(ClientCertificate, CertificateIsFoundBetweenOtherText) {
    const tests::Identity identity = tests::make_identity({});
    const std::string& certificate = identity.certificate;
    EXPECT_TRUE(check_certificate("Subject: me\n" + certificate, "x"));
    EXPECT_TRUE(check_certificate(identity.key + certificate, "x"));
    std::string windows = certificate;
    for (std::size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2)
        windows.insert(at, "\r");
    EXPECT_TRUE(check_certificate(windows, "x"));
    const std::string garbage = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";
    for (const std::string& text :
         {std::string(), std::string("-----BEGIN CERTIFICATE-----"), garbage, garbage + certificate,
          identity.key, " " + certificate, certificate.substr(0, 50), std::string("0\x03\x02\x01\x01")}) {
        const auto checked = check_certificate(text, "x");
        ASSERT_FALSE(checked) << text;
        EXPECT_EQ(checked.error().code, base::Errc::BadContent);
        EXPECT_EQ(checked.error().message, "x: has no valid certificate in PEM");
    }
}

TEST(ClientCertificate, EachKindOfPlainKeyIsAccepted) {
    tests::CertificateRequest rsa;
    rsa.bits = 2048;
    EXPECT_TRUE(check_private_key(tests::make_identity(rsa).key, "x"));
    const tests::Identity identity = tests::make_identity({});
    EXPECT_TRUE(check_private_key(identity.certificate + identity.key, "x"));
    EXPECT_TRUE(check_private_key("-----BEGIN EC PARAMETERS-----\n"
                                  "BggqhkjOPQMBBw==\n"
                                  "-----END EC PARAMETERS-----\n"
                                  "-----BEGIN EC PRIVATE KEY-----\n"
                                  "MHcCAQEEIOmX74X3uFdnm1BWW21A2ogdTAdn4hfIDFjqXkEqnBcRoAoGCCqGSM49\n"
                                  "AwEHoUQDQgAEzHijcUVV19SFZhkC2A/Zhrx+3INy5Ewoz42EcOBSv+6kRhOyGhev\n"
                                  "ZgsLt6ag1sBJMW5rGqnWh2bFvp7sMbiIWA==\n"
                                  "-----END EC PRIVATE KEY-----\n",
                                  "x"));
    for (const std::string& text :
         {std::string(), identity.certificate, identity.key.substr(0, 100),
          std::string("-----BEGIN PRIVATE KEY-----\n-\n-----END PRIVATE KEY-----\n")}) {
        const auto checked = check_private_key(text, "x");
        ASSERT_FALSE(checked) << text;
        EXPECT_EQ(checked.error().code, base::Errc::BadContent);
        EXPECT_EQ(checked.error().message, "x: has no valid private key in PEM");
    }
}

TEST(ClientCertificate, KeysWithAPassphraseAreRefused) {
    const std::string old_format = "-----BEGIN EC PRIVATE KEY-----\n"
                                   "Proc-Type: 4,ENCRYPTED\n"
                                   "DEK-Info: AES-128-CBC,F81033A0FD0FFBFC68E55310170500C9\n"
                                   "\n"
                                   "KZnLFv3N49rmFMZAs6M5ZTA09/DAO/nhP1iFpeJkq+sdaKFkY0D1at0W2Tzi6oqO\n"
                                   "DYB3DGE2js7ccmYRAH45o2dj/20Dhci8Sx4NvL8i7ds06N1VyEtnKiVW2VXnKopf\n"
                                   "K/BWKUSm/QLT1OiRvzbnHfZ233/Fpz7phq5bb9GfoY8=\n"
                                   "-----END EC PRIVATE KEY-----\n";
    for (const std::string& text : {tests::encrypted_key(tests::make_identity({}), "word"), old_format}) {
        const auto checked = check_private_key(text, "x");
        ASSERT_FALSE(checked) << text;
        EXPECT_EQ(checked.error().code, base::Errc::Refused);
        EXPECT_EQ(checked.error().message, "x: is encrypted with a passphrase");
    }
}

} // namespace
} // namespace gpuhost::content
