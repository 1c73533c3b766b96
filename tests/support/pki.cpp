// SPDX-License-Identifier: Apache-2.0
#include "tests/support/pki.hpp"

#include "daemon/base/handle.hpp"

#include <ctime>
#include <stdexcept>

#include <openssl/cms.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

namespace gpuhost::tests {
namespace {

using Bio = base::CHandle<BIO, BIO_free_all>;
using Key = base::CHandle<EVP_PKEY, EVP_PKEY_free>;
using Certificate = base::CHandle<X509, X509_free>;

template <class T>
T* need(T* pointer) {
    if (pointer == nullptr)
        throw std::runtime_error("OpenSSL failed");
    return pointer;
}
void need(int one) {
    if (one <= 0)
        throw std::runtime_error("OpenSSL failed");
}

Bio reader(const std::string& text) {
    return Bio(need(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))));
}
Bio writer() {
    return Bio(need(BIO_new(BIO_s_mem())));
}
std::string text_of(const Bio& bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

Key key_of(const Identity& identity) {
    return Key(need(PEM_read_bio_PrivateKey(reader(identity.key).get(), nullptr, nullptr, nullptr)));
}
Certificate certificate_of(const Identity& identity) {
    return Certificate(
        need(PEM_read_bio_X509(reader(identity.certificate).get(), nullptr, nullptr, nullptr)));
}

std::string pem_of(EVP_PKEY* key) {
    const Bio out = writer();
    need(PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr));
    return text_of(out);
}

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
    if (value.empty())
        return;
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const base::CHandle<X509_EXTENSION, X509_EXTENSION_free> extension(
        need(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str())));
    need(X509_add_ext(certificate, extension.get(), -1));
}

void set_name(X509_NAME* name, const std::string& common) {
    need(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common.c_str()), -1, -1, 0));
}

} // namespace

Identity make_identity(const CertificateRequest& request, const Identity* issuer) {
    const Key key(
        need(request.bits == 0 ? EVP_EC_gen("P-256") : EVP_RSA_gen(static_cast<unsigned>(request.bits))));
    const Certificate certificate(need(X509_new()));
    need(X509_set_version(certificate.get(), X509_VERSION_3));
    need(ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), request.serial));
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), request.from);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), request.until);
    need(X509_set_pubkey(certificate.get(), key.get()));
    set_name(X509_get_subject_name(certificate.get()), request.name);
    const Certificate parent = issuer != nullptr ? certificate_of(*issuer) : nullptr;
    X509* const signer = parent ? parent.get() : certificate.get();
    need(X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)));
    extend(certificate.get(), signer, NID_basic_constraints,
           request.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    extend(certificate.get(), signer, NID_subject_key_identifier, "hash");
    extend(certificate.get(), signer, NID_key_usage, request.key_usage);
    extend(certificate.get(), signer, NID_ext_key_usage, request.extended_usage);
    extend(certificate.get(), signer, NID_subject_alt_name, request.alternative_names);
    const Key parent_key = issuer != nullptr ? key_of(*issuer) : nullptr;
    need(X509_sign(certificate.get(), parent_key ? parent_key.get() : key.get(), EVP_sha256()));
    const Bio out = writer();
    need(PEM_write_bio_X509(out.get(), certificate.get()));
    return {pem_of(key.get()), text_of(out)};
}

std::string make_revocation_list(const Identity& issuer, const std::vector<long>& serials,
                                 std::int64_t until) {
    const base::CHandle<X509_CRL, X509_CRL_free> list(need(X509_CRL_new()));
    const base::CHandle<ASN1_TIME, ASN1_TIME_free> from(need(X509_gmtime_adj(nullptr, -3600)));
    const base::CHandle<ASN1_TIME, ASN1_TIME_free> to(need(X509_gmtime_adj(nullptr, until)));
    const Certificate certificate = certificate_of(issuer);
    need(X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate.get())));
    need(X509_CRL_set1_lastUpdate(list.get(), from.get()));
    need(X509_CRL_set1_nextUpdate(list.get(), to.get()));
    for (const long serial : serials) {
        X509_REVOKED* const revoked = need(X509_REVOKED_new()); // owned by the list after add0
        const base::CHandle<ASN1_INTEGER, ASN1_INTEGER_free> number(need(ASN1_INTEGER_new()));
        need(ASN1_INTEGER_set(number.get(), serial));
        need(X509_REVOKED_set_serialNumber(revoked, number.get()));
        need(X509_REVOKED_set_revocationDate(revoked, from.get()));
        need(X509_CRL_add0_revoked(list.get(), revoked));
    }
    need(X509_CRL_sign(list.get(), key_of(issuer).get(), EVP_sha256()));
    const Bio out = writer();
    need(PEM_write_bio_X509_CRL(out.get(), list.get()));
    return text_of(out);
}

std::string make_pkcs12(const Identity& identity, const std::string& passphrase) {
    const base::CHandle<PKCS12, PKCS12_free> file(
        need(PKCS12_create(passphrase.c_str(), "test", key_of(identity).get(), certificate_of(identity).get(),
                           nullptr, 0, 0, 0, 0, 0)));
    const Bio out = writer();
    need(i2d_PKCS12_bio(out.get(), file.get()));
    return text_of(out);
}

std::string encrypted_key(const Identity& identity, const std::string& passphrase) {
    const Bio out = writer();
    need(PEM_write_bio_PKCS8PrivateKey(out.get(), key_of(identity).get(), EVP_aes_256_cbc(),
                                       passphrase.data(), static_cast<int>(passphrase.size()), nullptr,
                                       nullptr));
    return text_of(out);
}

std::string sign_with_digest(const Identity& identity, const std::string& content, const char* digest,
                             bool detached) {
    constexpr unsigned flags = CMS_BINARY | CMS_PARTIAL;
    const base::CHandle<CMS_ContentInfo, CMS_ContentInfo_free> cms(
        need(CMS_sign(nullptr, nullptr, nullptr, nullptr, flags)));
    need(CMS_add1_signer(cms.get(), certificate_of(identity).get(), key_of(identity).get(),
                         EVP_get_digestbyname(digest), flags));
    need(CMS_set_detached(cms.get(), detached ? 1 : 0));
    need(CMS_final(cms.get(), reader(content).get(), nullptr, CMS_BINARY));
    const Bio out = writer();
    need(i2d_CMS_bio(out.get(), cms.get()));
    return text_of(out);
}

} // namespace gpuhost::tests
