// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/client_certificate.hpp"

#include "daemon/content/crypto/openssl.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <array>

#include <openssl/ec.h>
#include <openssl/evp.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

using KeyPtr = base::CHandle<EVP_PKEY, EVP_PKEY_free>;
using RequestPtr = base::CHandle<X509_REQ, X509_REQ_free>;
using CertificatePtr = base::CHandle<X509, X509_free>;

tl::unexpected<base::Error> failed(std::string_view what, Errc code = Errc::Failed) {
    return base::fail(code, std::string(what) + ": " + openssl_reason());
}

bool add(X509_NAME* name, const char* field, const std::string& value) {
    return value.empty() || X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                                       reinterpret_cast<const unsigned char*>(value.data()),
                                                       static_cast<int>(value.size()), -1, 0) == 1;
}

Result<std::string> digest_of(const X509_PUBKEY* key) {
    unsigned char* der = nullptr;
    const int length = i2d_X509_PUBKEY(key, &der);
    if (length <= 0)
        return failed("a public key");
    const std::string bytes(reinterpret_cast<const char*>(der), static_cast<std::size_t>(length));
    OPENSSL_free(der);
    return sha256(bytes);
}

/// OpenSSL's pem_password_cb: sets the bool `asked`.
extern "C" int refuse_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
}

} // namespace

Result<std::string> make_private_key() {
    const KeyPtr key(EVP_EC_gen("P-256"));
    const BioPtr out(BIO_new(BIO_s_mem()));
    if (!key || !out ||
        PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
        return failed("creating a key");
    return std::string(written(out.get()));
}

Result<CertificateRequest> request_certificate(std::string_view key, const Subject& subject) {
    const BioPtr in = memory_bio(key);
    const KeyPtr pair(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
    if (!pair)
        return failed("the private key", Errc::BadContent);
    const RequestPtr request(X509_REQ_new());
    const BioPtr out(BIO_new(BIO_s_mem()));
    if (!request || !out || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
        !add(X509_REQ_get_subject_name(request.get()), "O", subject.organization) ||
        !add(X509_REQ_get_subject_name(request.get()), "CN", subject.name) ||
        X509_REQ_set_pubkey(request.get(), pair.get()) != 1 ||
        X509_REQ_sign(request.get(), pair.get(), EVP_sha256()) <= 0 ||
        PEM_write_bio_X509_REQ(out.get(), request.get()) != 1)
        return failed("creating a certificate request");
    GPUHOST_TRY(digest, digest_of(X509_REQ_get_X509_PUBKEY(request.get())));
    return CertificateRequest{std::string(written(out.get())), std::move(digest)};
}

Result<void> check_certificate(std::string_view pem, std::string_view what) {
    if (read_certificate(pem, what))
        return {};
    return base::fail(
        Errc::BadContent, std::string(what) + ": has no valid certificate in PEM",
        "Provide one with '-----BEGIN CERTIFICATE-----'; convert DER with openssl x509 -inform DER.");
}

Result<void> check_private_key(std::string_view pem, std::string_view what) {
    bool asked = false;
    const BioPtr in = memory_bio(pem);
    if (const KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, refuse_passphrase, &asked)); key)
        return {};
    ERR_clear_error();
    if (asked)
        return base::fail(Errc::Refused, std::string(what) + ": is encrypted with a passphrase",
                          "Remove the passphrase with openssl pkey -in FILE -out FILE.new.");
    return base::fail(Errc::BadContent, std::string(what) + ": has no valid private key in PEM",
                      "Provide one with '-----BEGIN PRIVATE KEY-----'.");
}

Result<CertificateFacts> read_certificate(std::string_view pem, std::string_view what) {
    const BioPtr in = memory_bio(pem);
    const CertificatePtr certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
    if (!certificate)
        return failed(what, Errc::BadContent);
    GPUHOST_TRY(digest, digest_of(X509_get_X509_PUBKEY(certificate.get())));
    return CertificateFacts{unix_time(X509_get0_notBefore(certificate.get())),
                            unix_time(X509_get0_notAfter(certificate.get())),
                            common_name(X509_get_subject_name(certificate.get())), std::move(digest)};
}

} // namespace gpuhost::content
