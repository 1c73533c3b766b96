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

} // namespace
} // namespace gpuhost::content
