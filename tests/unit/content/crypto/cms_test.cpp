// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/content/crypto/cms.hpp"
#include "tests/support/pki.hpp"

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

using base::Errc;
using tests::CertificateRequest;
using tests::Identity;
using tests::make_identity;

CertificateRequest authority(const std::string& name = "Site authority") {
    CertificateRequest request;
    request.name = name;
    request.authority = true;
    return request;
}

CertificateRequest release_key() {
    CertificateRequest request;
    request.key_usage = "critical,digitalSignature";
    request.extended_usage = "codeSigning";
    return request;
}

class Cms : public ::testing::Test {
  protected:
    static TrustAnchors trusting(const std::vector<std::string>& pems) {
        TrustAnchors trust;
        for (const std::string& pem : pems)
            EXPECT_TRUE(trust.add(pem, "trust.pem"));
        return trust;
    }
    static std::string sign(const Identity& identity, const std::string& content,
                            const std::string& intermediates = {}) {
        const auto key = SigningKey::from_pem(identity.key, identity.certificate + intermediates, "");
        EXPECT_TRUE(key) << key.error().message;
        const auto signed_ = key->sign(content, 1'700'000'000);
        EXPECT_TRUE(signed_) << signed_.error().message;
        return signed_.value_or("");
    }
    /// Returns why the document is refused, or an empty text.
    static std::string refused(const std::string& der, const TrustAnchors& trust) {
        const auto read = verify_signed(der, trust, "site.bundle");
        if (read)
            return {};
        EXPECT_EQ(read.error().code, Errc::AccessDenied);
        return read.error().message;
    }
    /// Returns why a document of such a signer is refused.
    [[nodiscard]] std::string refused_signer(const CertificateRequest& request) const {
        return refused(sign(make_identity(request, &site_), "x"), trusting({site_.certificate}));
    }

    Identity site_ = make_identity(authority());
};

TEST_F(Cms, ReturnsTheSignedContentAndSigner) {
    const Identity signer = make_identity(release_key(), &site_);
    const std::string content = std::string("{\"a\": 1}\r\n\0 \xff", 14);
    const auto read = verify_signed(sign(signer, content), trusting({site_.certificate}), "site.bundle");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->content, content);
    EXPECT_EQ(read->signer.subject, "CN=Release key");
    EXPECT_EQ(read->signer.sha256.size(), 64U);
    EXPECT_NEAR(static_cast<double>(read->signer.not_after),
                static_cast<double>(base::realtime_us()) / 1e6 + 86'400, 60);
    EXPECT_EQ(signed_content_unverified(sign(signer, content), "x").value(), content);
}

TEST_F(Cms, FollowsIntermediateAuthorities) {
    const Identity middle = make_identity(authority("Department"), &site_);
    const Identity signer = make_identity(release_key(), &middle);
    EXPECT_EQ(refused(sign(signer, "x", middle.certificate), trusting({site_.certificate})), "");
    EXPECT_NE(
        refused(sign(signer, "x"), trusting({site_.certificate})).find("authority 'CN=Department' is not"),
        std::string::npos);
    // Trusting the intermediate authority or the signer alone is enough.
    EXPECT_EQ(refused(sign(signer, "x"), trusting({middle.certificate})), "");
    EXPECT_EQ(refused(sign(signer, "x"), trusting({signer.certificate})), "");
}

TEST_F(Cms, RefusesUntrustedAuthorities) {
    const Identity other = make_identity(authority("Other site"));
    const Identity signer = make_identity(release_key(), &other);
    EXPECT_NE(refused(sign(signer, "x"), trusting({site_.certificate}))
                  .find("the authority 'CN=Other site' is not trusted"),
              std::string::npos);
    EXPECT_NE(refused(sign(signer, "x"), TrustAnchors()).find("is not trusted"), std::string::npos);
    // An authority with the same name has a different key.
    const Identity impostor = make_identity(authority());
    EXPECT_NE(refused(sign(make_identity(release_key(), &impostor), "x"), trusting({site_.certificate})), "");
    // A certificate without the CA flag cannot issue certificates.
    const Identity signer2 = make_identity(release_key(), &site_);
    const Identity below = make_identity(release_key(), &signer2);
    EXPECT_NE(refused(sign(below, "x", signer2.certificate), trusting({site_.certificate})), "");
}

TEST_F(Cms, RefusesModifiedDocuments) {
    const Identity signer = make_identity(release_key(), &site_);
    const TrustAnchors trust = trusting({site_.certificate});
    const std::string der = sign(signer, "generation 7");
    std::string altered = der;
    altered.replace(altered.find("generation 7"), 12, "generation 8");
    EXPECT_NE(refused(altered, trust).find("signature is not valid"), std::string::npos);
    for (std::size_t size = 0; size < der.size(); size += 97) {
        const auto cut = verify_signed(der.substr(0, size), trust, "x");
        ASSERT_FALSE(cut);
        EXPECT_EQ(cut.error().code, Errc::BadContent);
    }
    EXPECT_EQ(verify_signed(der + "x", trust, "x").error().code, Errc::BadContent);
    EXPECT_EQ(verify_signed("no CMS", trust, "x").error().code, Errc::BadContent);
    EXPECT_EQ(verify_signed(tests::sign_with_digest(signer, "x", "SHA256", true), trust, "x").error().code,
              Errc::BadContent)
        << "no content inside";
}

TEST_F(Cms, ExpiredAndFutureCertificatesNameTheTime) {
    CertificateRequest request = release_key();
    request.until = -60;
    EXPECT_NE(refused_signer(request).find("'CN=Release key' was valid until 20"), std::string::npos);
    EXPECT_NE(refused_signer(request).find("this host's clock says 20"), std::string::npos);
    request = release_key();
    request.from = 3600;
    EXPECT_NE(refused_signer(request).find("is valid from 20"), std::string::npos);
}

TEST_F(Cms, RefusesCertificatesForOtherUses) {
    CertificateRequest request = release_key();
    request.key_usage.clear();
    request.extended_usage.clear();
    EXPECT_EQ(refused_signer(request), "") << "without the extension, every use is allowed";
    request.key_usage = "critical,keyEncipherment";
    EXPECT_NE(refused_signer(request).find("not for signing (key usage)"), std::string::npos);
    request = release_key();
    request.extended_usage = "serverAuth";
    EXPECT_NE(refused_signer(request).find("not for signing code"), std::string::npos);
}

TEST_F(Cms, RefusesWeakKeysAndDigests) {
    CertificateRequest request = release_key();
    request.bits = 1024;
    EXPECT_NE(refused_signer(request).find("key too weak"), std::string::npos) << refused_signer(request);
    request.bits = 2048;
    EXPECT_EQ(refused_signer(request), "");
    const Identity signer = make_identity(release_key(), &site_);
    EXPECT_NE(refused(tests::sign_with_digest(signer, "x", "SHA1"), trusting({site_.certificate}))
                  .find("a weak or unknown digest"),
              std::string::npos);
    EXPECT_EQ(refused(tests::sign_with_digest(signer, "x", "SHA512"), trusting({site_.certificate})), "");
}

TEST_F(Cms, RevokedCertificateIsRefused) {
    CertificateRequest request = release_key();
    request.serial = 7;
    const std::string der = sign(make_identity(request, &site_), "x");
    const std::string list = tests::make_revocation_list(site_, {6, 7});
    EXPECT_NE(refused(der, trusting({site_.certificate, list})).find("was revoked by 'CN=Site authority'"),
              std::string::npos);
    EXPECT_EQ(refused(der, trusting({site_.certificate, tests::make_revocation_list(site_, {6})})), "");
    EXPECT_NE(refused(der, trusting({site_.certificate, tests::make_revocation_list(site_, {}, -60)}))
                  .find("revocation list of 'CN=Site authority' is not current"),
              std::string::npos);
    // A list of another authority does not apply to this certificate.
    const Identity other = make_identity(authority("Other"));
    EXPECT_EQ(refused(der, trusting({site_.certificate,
                                     other.certificate + tests::make_revocation_list(other, {7})})),
              "");
}

TEST_F(Cms, RevocationIsCheckedWithTwoTiersOfAuthorities) {
    CertificateRequest department = authority("Department");
    department.serial = 3;
    const Identity middle = make_identity(department, &site_);
    const std::string der = sign(make_identity(release_key(), &middle), "x");
    const std::string both = site_.certificate + middle.certificate;
    EXPECT_EQ(refused(der, trusting({both})), "");
    EXPECT_EQ(refused(der, trusting({both, tests::make_revocation_list(site_, {})})), "");
    EXPECT_EQ(refused(der, trusting({both, tests::make_revocation_list(middle, {})})), "");
    EXPECT_NE(refused(der, trusting({both, tests::make_revocation_list(site_, {3})}))
                  .find("'CN=Department' was revoked"),
              std::string::npos);
    EXPECT_NE(refused(der, trusting({both, tests::make_revocation_list(middle, {1})}))
                  .find("'CN=Release key' was revoked"),
              std::string::npos);
}

TEST_F(Cms, RefusesSignersOfAuthoritiesForOtherUses) {
    CertificateRequest servers = authority("Servers");
    servers.extended_usage = "serverAuth";
    const Identity middle = make_identity(servers, &site_);
    CertificateRequest signer = release_key();
    signer.extended_usage.clear();
    const std::string der = sign(make_identity(signer, &middle), "x", middle.certificate);
    EXPECT_NE(
        refused(der, trusting({site_.certificate})).find("authority 'CN=Servers' is not for signing code"),
        std::string::npos)
        << refused(der, trusting({site_.certificate}));
}

TEST_F(Cms, TrustFilesWithOtherContentAreRefused) {
    TrustAnchors trust;
    for (const std::string& pem :
         {std::string(), std::string("hello"), site_.key, site_.certificate + site_.key,
          site_.certificate.substr(0, site_.certificate.size() / 2)}) {
        const auto added = trust.add(pem, "/etc/gpuhost/trust.d/x.pem");
        ASSERT_FALSE(added);
        EXPECT_EQ(added.error().code, Errc::BadContent);
        EXPECT_EQ(added.error().message.find("/etc/gpuhost/trust.d/x.pem: "), 0U);
    }
    EXPECT_TRUE(trust.empty());
    ASSERT_TRUE(trust.add(site_.certificate, "x"));
    EXPECT_EQ(trust.authorities(), std::vector<std::string>{"CN=Site authority"});
}

TEST_F(Cms, ReadsKeysFromPkcs12AndPem) {
    const Identity signer = make_identity(release_key(), &site_);
    const TrustAnchors trust = trusting({site_.certificate});
    const auto from_file = SigningKey::from_pkcs12(tests::make_pkcs12(signer, "secret"), "secret");
    ASSERT_TRUE(from_file) << from_file.error().message;
    EXPECT_EQ(refused(from_file->sign("x", 0).value(), trust), "");
    EXPECT_FALSE(SigningKey::from_pkcs12(tests::make_pkcs12(signer, "secret"), "wrong"));
    EXPECT_FALSE(SigningKey::from_pkcs12("junk", ""));
    const std::string locked = tests::encrypted_key(signer, "secret");
    EXPECT_TRUE(SigningKey::from_pem(locked, signer.certificate, "secret"));
    EXPECT_FALSE(SigningKey::from_pem(locked, signer.certificate, ""));
    EXPECT_FALSE(
        SigningKey::from_pem(signer.key, signer.certificate + site_.certificate.substr(0, 200) + "\n", ""))
        << "half a certificate";
    const auto mixed = SigningKey::from_pem(signer.key, site_.certificate, "");
    ASSERT_FALSE(mixed);
    EXPECT_NE(mixed.error().message.find("does not belong to the certificate 'CN=Site authority'"),
              std::string::npos);
}

TEST_F(Cms, SignatureIsReproducible) {
    CertificateRequest request = release_key();
    request.bits = 2048;
    const Identity signer = make_identity(request, &site_);
    const auto key = SigningKey::from_pem(signer.key, signer.certificate, "");
    ASSERT_TRUE(key);
    EXPECT_EQ(key->sign("x", 5).value(), key->sign("x", 5).value());
    EXPECT_NE(key->sign("x", 5).value(), key->sign("x", 6).value());
}

} // namespace
} // namespace gpuhost::content
