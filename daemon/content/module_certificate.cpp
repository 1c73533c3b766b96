// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/module_certificate.hpp"

#include "daemon/content/openssl.hpp"

#include <openssl/x509v3.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

using CertificatePtr = base::CHandle<X509, X509_free>;

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

} // namespace

Result<ModuleCertificate> read_module_certificate(std::string_view text, std::string_view what) {
    const CertificatePtr certificate = text.size() > largest_certificate ? CertificatePtr() : parse(text);
    if (!certificate) {
        ERR_clear_error();
        return base::fail(Errc::BadContent, std::string(what) + ": is no certificate, in PEM or DER");
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
    facts.signs = (X509_get_key_usage(x509) & KU_DIGITAL_SIGNATURE) != 0; // or has no such extension
    facts.signs_code = (X509_get_extended_key_usage(x509) & XKU_CODE_SIGN) != 0;
    ERR_clear_error(); // of extensions that make no sense
    return facts;
}

} // namespace gpuhost::content
