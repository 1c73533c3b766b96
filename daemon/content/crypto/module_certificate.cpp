// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/module_certificate.hpp"

#include "daemon/content/crypto/openssl.hpp"

#include <array>

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

using CertificatePtr = base::CHandle<X509, X509_free>;
using KeyPtr = base::CHandle<EVP_PKEY, EVP_PKEY_free>;

constexpr std::size_t largest_certificate = 64U << 10U;

CertificatePtr parse(std::string_view text) {
    if (text.find("-----BEGIN") != std::string_view::npos) {
        const BioPtr in = memory_bio(text);
        return CertificatePtr(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
    }
    const auto* at = reinterpret_cast<const unsigned char*>(text.data()); // OpenSSL's type for bytes
    const unsigned char* const end = at + text.size();
    CertificatePtr certificate(d2i_X509(nullptr, &at, static_cast<long>(text.size())));
    return at == end ? std::move(certificate) : CertificatePtr();
}

std::string der_of(X509* certificate) {
    unsigned char* der = nullptr;
    const int size = i2d_X509(certificate, &der);
    std::string bytes = size > 0
                            ? std::string(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size))
                            : std::string();
    OPENSSL_free(der);
    return bytes;
}

std::string pem_of(X509* certificate) {
    const BioPtr out(BIO_new(BIO_s_mem()));
    if (!out || PEM_write_bio_X509(out.get(), certificate) != 1)
        return {};
    return std::string(written(out.get()));
}

/// Sets the fields of the certificate, except the subject, the key and the extensions.
bool set_facts(X509* certificate) {
    constexpr long seconds = 36500L * 24 * 3600;
    std::array<unsigned char, 16> random{};
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1)
        return false;
    // The serial number must be positive and of constant length.
    random[0] = static_cast<unsigned char>((random[0] & 0x7fU) | 0x40U);
    const base::CHandle<BIGNUM, BN_free> serial(
        BN_bin2bn(random.data(), static_cast<int>(random.size()), nullptr));
    return serial && BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr &&
           X509_set_version(certificate, X509_VERSION_3) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), 0) != nullptr &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), seconds) != nullptr &&
           X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1;
}

bool extend(X509* certificate, int kind, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    const base::CHandle<X509_EXTENSION, X509_EXTENSION_free> extension(
        X509V3_EXT_conf_nid(nullptr, &context, kind, value));
    return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

} // namespace

Result<ModuleCertificate> read_module_certificate(std::string_view text, std::string_view what) {
    const CertificatePtr certificate = text.size() > largest_certificate ? CertificatePtr() : parse(text);
    if (!certificate) {
        ERR_clear_error();
        return base::fail(Errc::BadContent, std::string(what) + ": is not a certificate in PEM or DER");
    }
    X509* const x509 = certificate.get();
    ModuleCertificate facts;
    facts.der = der_of(x509);
    facts.pem = pem_of(x509);
    facts.name = common_name(X509_get_subject_name(x509));
    facts.issuer = name_text(X509_get_issuer_name(x509));
    facts.serial = serial_text(X509_get0_serialNumber(x509));
    if (const ASN1_OCTET_STRING* const key_id = X509_get0_subject_key_id(x509))
        facts.key_id = hexadecimal(key_id);
    facts.until = unix_time(X509_get0_notAfter(x509));
    // Each of these two facts is also true if the certificate does not have the extension.
    facts.signs = (X509_get_key_usage(x509) & KU_DIGITAL_SIGNATURE) != 0;
    facts.signs_code = (X509_get_extended_key_usage(x509) & XKU_CODE_SIGN) != 0;
    ERR_clear_error(); // errors of malformed extensions
    return facts;
}

Result<ModuleIdentity> make_module_identity(const std::string& name) {
    const auto failed = [] {
        return base::fail(Errc::Failed, "creating a key for modules: " + openssl_reason());
    };
    const CertificatePtr certificate(X509_new());
    X509* const x509 = certificate.get();
    const auto* const text = reinterpret_cast<const unsigned char*>(name.c_str()); // OpenSSL's type for bytes
    if (!certificate ||
        X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_UTF8, text, -1, -1, 0) != 1)
        return base::fail(Errc::InvalidArgument,
                          "'" + name + "' is not a valid name for a certificate: " + openssl_reason(),
                          "Choose a name of at most 64 characters.");
    const KeyPtr key(EVP_RSA_gen(4096));
    const BioPtr pem(BIO_new(BIO_s_mem()));
    if (!key || !pem || !set_facts(x509) || X509_set_pubkey(x509, key.get()) != 1 ||
        !extend(x509, NID_basic_constraints, "critical,CA:FALSE") ||
        !extend(x509, NID_key_usage, "critical,digitalSignature") ||
        !extend(x509, NID_ext_key_usage, "codeSigning") ||
        !extend(x509, NID_subject_key_identifier, "hash") || X509_sign(x509, key.get(), EVP_sha256()) <= 0 ||
        PEM_write_bio_PKCS8PrivateKey(pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
        return failed();
    return ModuleIdentity{std::string(written(pem.get())), der_of(x509)};
}

} // namespace gpuhost::content
