// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/cms.hpp"
#include "daemon/content/crypto/key_store.hpp"
#include "daemon/content/crypto/openssl.hpp"

#include <algorithm>

#include <openssl/pkcs12.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view key_hint = "Name the certificate that belongs to the key.";

Result<SigningKey> no_key(const std::string& what, bool secret, std::string hint) {
    return base::fail(secret ? Errc::AccessDenied : Errc::InvalidArgument, what + ": " + openssl_reason(),
                      std::move(hint));
}

} // namespace

extern "C" int give_passphrase(char* buffer, int size, int /*writing*/, void* user) {
    auto& passphrase = *static_cast<Passphrase*>(user);
    passphrase.asked = true;
    const std::size_t length = passphrase.text.size();
    if (length == 0 || size < 0 || length > static_cast<std::size_t>(size))
        return -1;
    std::copy(passphrase.text.begin(), passphrase.text.end(), buffer);
    return static_cast<int>(length);
}

void free_key(evp_pkey_st* key) noexcept {
    EVP_PKEY_free(key);
}
void free_certificate(x509_st* certificate) noexcept {
    X509_free(certificate);
}
void free_certificates(stack_st_X509* certificates) noexcept {
    sk_X509_pop_free(certificates, X509_free);
}

Result<void> SigningKey::check() const {
    if (X509_check_private_key(certificate_.get(), key_.get()) == 1)
        return {};
    ERR_clear_error();
    return base::fail(Errc::InvalidArgument,
                      "the key does not belong to the certificate '" +
                          name_text(X509_get_subject_name(certificate_.get())) + "'",
                      std::string(key_hint));
}

Result<SigningKey> SigningKey::from_pem(std::string_view key, std::string_view certificates,
                                        const std::string& passphrase) {
    SigningKey made;
    const BioPtr key_bio = memory_bio(key);
    Passphrase secret{passphrase};
    made.key_.reset(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, give_passphrase, &secret));
    if (!made.key_)
        return no_key("reading the key", secret.asked, "Give a PEM key, and its passphrase if it has one.");
    GPUHOST_CHECK(made.add_certificates(certificates));
    return made;
}

Result<SigningKey> SigningKey::from_uri(const std::string& uri, std::string_view certificates,
                                        const std::string& passphrase) {
    SigningKey made;
    Passphrase secret{passphrase};
    made.key_.reset(load_key(uri, secret));
    if (!made.key_)
        return no_key("loading key '" + uri + "'", secret.asked,
                      "For a pkcs11: URI, load a provider in openssl.cnf(5) or install the engine pkcs11. "
                      "Give the key's PIN and a URI that matches only this key.");
    GPUHOST_CHECK(made.add_certificates(certificates));
    return made;
}

Result<void> SigningKey::add_certificates(std::string_view pem) {
    const BioPtr bio = memory_bio(pem);
    certificate_.reset(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    chain_.reset(sk_X509_new_null());
    if (!certificate_)
        return base::fail(Errc::InvalidArgument, "reading the certificate: " + openssl_reason());
    while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
        sk_X509_push(chain_.get(), next);
    const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (const std::string why = openssl_reason(); !ended)
        return base::fail(Errc::InvalidArgument, "reading a certificate after the first: " + why);
    return check();
}

Result<SigningKey> SigningKey::from_pkcs12(std::string_view der, const std::string& passphrase) {
    const BioPtr bio = memory_bio(der);
    const base::CHandle<PKCS12, PKCS12_free> file(d2i_PKCS12_bio(bio.get(), nullptr));
    EVP_PKEY* key = nullptr;
    X509* certificate = nullptr;
    STACK_OF(X509)* chain = nullptr;
    if (!file || PKCS12_parse(file.get(), passphrase.c_str(), &key, &certificate, &chain) != 1) {
        const bool secret = ERR_GET_REASON(ERR_peek_last_error()) == PKCS12_R_MAC_VERIFY_FAILURE;
        return no_key("reading the PKCS#12 file", secret,
                      "Give a PKCS#12 file, and its passphrase if it has one.");
    }
    SigningKey made;
    made.key_.reset(key);
    made.certificate_.reset(certificate);
    made.chain_.reset(chain);
    if (!made.key_ || !made.certificate_)
        return base::fail(Errc::InvalidArgument, "the PKCS#12 file has no key with a certificate");
    GPUHOST_CHECK(made.check());
    return made;
}

Result<std::string> SigningKey::sign(std::string_view content, std::uint64_t time) const {
    const auto failed = [](std::string_view what) {
        return base::fail(Errc::Failed, "signing: " + std::string(what) + ": " + openssl_reason());
    };
    constexpr unsigned flags = CMS_BINARY | CMS_PARTIAL | CMS_NOSMIMECAP;
    const CmsPtr cms(CMS_sign(nullptr, nullptr, chain_.get(), nullptr, flags));
    if (!cms)
        return failed("CMS_sign");
    CMS_SignerInfo* const info =
        CMS_add1_signer(cms.get(), certificate_.get(), key_.get(), EVP_sha256(), flags);
    if (info == nullptr)
        return failed("CMS_add1_signer");
    const base::CHandle<ASN1_TIME, ASN1_TIME_free> at(ASN1_TIME_set(nullptr, static_cast<time_t>(time)));
    if (!at || CMS_signed_add1_attr_by_NID(info, NID_pkcs9_signingTime, ASN1_STRING_type(at.get()), at.get(),
                                           -1) != 1)
        return failed("the time");
    CMS_set_detached(cms.get(), 0);
    const BioPtr in = memory_bio(content);
    const BioPtr out(BIO_new(BIO_s_mem()));
    if (CMS_final(cms.get(), in.get(), nullptr, CMS_BINARY) != 1 || i2d_CMS_bio(out.get(), cms.get()) != 1)
        return failed("CMS_final");
    return std::string(written(out.get()));
}

} // namespace gpuhost::content
