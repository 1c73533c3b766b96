// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/module_signature.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/openssl.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

using CertificatePtr = base::CHandle<X509, X509_free>;

constexpr std::string_view magic = module_signature_magic;
constexpr std::size_t largest_der = 64U << 10U;     ///< thirty times the size of an RSA-4096 signature
constexpr std::uint64_t largest_module = 1U << 30U; ///< fits OpenSSL's int arguments
constexpr std::uint8_t type_pkcs7 = 2;

/// The kernel's struct module_signature, which precedes the magic.
struct Trailer {
    std::uint8_t algo, hash, id_type, signer_len, key_id_len;
    std::uint8_t padding[3];
    std::uint8_t length[4]; ///< big-endian
};

tl::unexpected<base::Error> malformed(std::string_view what, std::string_view why) {
    ERR_clear_error();
    return base::fail(Errc::BadContent,
                      std::string(what) + ": its signature is malformed: " + std::string(why),
                      "Sign the module again, or use another build of it.");
}

tl::unexpected<base::Error> not_supported(std::string_view what, std::string_view why) {
    ERR_clear_error();
    return base::fail(Errc::Unsupported, std::string(what) + ": " + std::string(why),
                      "Sign the module again, with an RSA or ECDSA key over a SHA-2 digest.");
}

/// The part of `file` that the signature covers, and the signature. split() makes the same checks as the
/// kernel's mod_check_sig(), in the same order.
struct Parts {
    std::uint64_t covered = 0;
    std::string_view der;
};
Result<Parts> split(std::string_view file, std::string_view what) {
    file.remove_suffix(magic.size());
    Trailer trailer{};
    if (file.size() <= sizeof trailer)
        return malformed(what, "there is nothing before its trailer");
    std::memcpy(&trailer, file.data() + file.size() - sizeof trailer, sizeof trailer);
    file.remove_suffix(sizeof trailer);
    std::uint64_t length = 0;
    for (const std::uint8_t byte : trailer.length)
        length = length << 8U | byte;
    if (length >= file.size())
        return malformed(what, "its length is larger than the file");
    if (trailer.id_type != type_pkcs7)
        return not_supported(what, "its signature is not a PKCS#7 message");
    if ((trailer.algo | trailer.hash | trailer.signer_len | trailer.key_id_len | trailer.padding[0] |
         trailer.padding[1] | trailer.padding[2]) != 0)
        return malformed(what, "fields that must be zero are not");
    if (length > largest_der)
        return malformed(what, "it is too large");
    return Parts{file.size() - length, file.substr(file.size() - length)};
}

Result<CmsPtr> parse(std::string_view der, std::string_view what) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data()); // OpenSSL's type for bytes
    const unsigned char* const end = at + der.size();
    CmsPtr cms(d2i_CMS_ContentInfo(nullptr, &at, static_cast<long>(der.size())));
    if (!cms || at != end || OBJ_obj2nid(CMS_get0_type(cms.get())) != NID_pkcs7_signed)
        return malformed(what, "it is not CMS SignedData");
    if (OBJ_obj2nid(CMS_get0_eContentType(cms.get())) != NID_pkcs7_data || CMS_is_detached(cms.get()) != 1)
        return malformed(what, "it contains content");
    return cms;
}

ModuleSigner signer_of(CMS_SignerInfo* info) {
    ASN1_OCTET_STRING* key_id = nullptr;
    X509_NAME* issuer = nullptr;
    ASN1_INTEGER* serial = nullptr;
    ModuleSigner signer;
    if (CMS_SignerInfo_get0_signer_id(info, &key_id, &issuer, &serial) != 1)
        return signer;
    if (key_id != nullptr)
        signer.key_id = hexadecimal(key_id);
    if (issuer != nullptr) {
        signer.issuer = name_text(issuer);
        signer.name = common_name(issuer);
    }
    if (serial != nullptr)
        signer.serial = serial_text(serial);
    return signer;
}

/// Returns "sha256" for OpenSSL's "SHA256"; empty if OpenSSL has no name for it.
std::string hash_of(CMS_SignerInfo* info) {
    X509_ALGOR* digest = nullptr;
    CMS_SignerInfo_get0_algs(info, nullptr, nullptr, &digest, nullptr);
    const ASN1_OBJECT* object = nullptr;
    X509_ALGOR_get0(&object, nullptr, nullptr, digest);
    const EVP_MD* const known = EVP_get_digestbyobj(object);
    ERR_clear_error();
    std::string text = known == nullptr ? "" : EVP_MD_get0_name(known);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto hyphen = text.find("sha2-"); // OpenSSL's newer names: "sha2-256"
    return hyphen == 0 ? "sha" + text.substr(5) : text;
}

} // namespace

Result<std::optional<ModuleSignature>> read_module_signature(std::string_view file, std::string_view what) {
    if (!base::ends_with(file, magic))
        return std::optional<ModuleSignature>();
    GPUHOST_TRY(parts, split(file, what));
    GPUHOST_TRY(cms, parse(parts.der, what));
    STACK_OF(CMS_SignerInfo)* const infos = CMS_get0_SignerInfos(cms.get()); // owned by cms
    if (sk_CMS_SignerInfo_num(infos) < 1)
        return not_supported(what, "its signature has no signer");
    CMS_SignerInfo* const info = sk_CMS_SignerInfo_value(infos, 0);
    if (CMS_signed_get_attr_count(info) > 0)
        return malformed(what, "it has signed attributes, which kernels do not accept");
    ModuleSignature signature{parts.covered, signer_of(info), hash_of(info), std::string(parts.der)};
    if (signature.signer.serial.empty() && signature.signer.key_id.empty())
        return malformed(what, "it does not name its signer");
    if (signature.hash.empty())
        return not_supported(what, "it is signed with an unknown digest");
    return std::optional<ModuleSignature>(std::move(signature));
}

Result<void> verify_module_signature(std::string_view file, const ModuleSignature& signature,
                                     std::string_view certificate, std::string_view what) {
    if (signature.covered > std::min<std::uint64_t>(file.size(), largest_module))
        return base::fail(Errc::BadContent, std::string(what) + ": too large for a module");
    const CmsPtr cms = parse(signature.der, what).value_or(CmsPtr());
    const auto* at = reinterpret_cast<const unsigned char*>(certificate.data());
    const CertificatePtr signer(d2i_X509(nullptr, &at, static_cast<long>(certificate.size())));
    const base::CHandle<STACK_OF(X509), [](STACK_OF(X509) * list) { sk_X509_free(list); }> signers(
        sk_X509_new_null());
    if (!cms || !signer || !signers || sk_X509_push(signers.get(), signer.get()) < 1)
        return base::fail(Errc::BadContent,
                          std::string(what) + ": can't verify its signature: " + openssl_reason());
    const BioPtr image = memory_bio(file.substr(0, signature.covered));
    // The flags ignore chains and the certificates inside, because the kernel searches its keyrings for the
    // key alone.
    constexpr unsigned flags = CMS_BINARY | CMS_DETACHED | CMS_NO_SIGNER_CERT_VERIFY | CMS_NOINTERN;
    if (CMS_verify(cms.get(), signers.get(), nullptr, image.get(), nullptr, flags) == 1)
        return {};
    return base::fail(Errc::AccessDenied,
                      std::string(what) + ": its signature does not match: " + openssl_reason(),
                      "Sign the module again: it was modified after signing, or another key signed it.");
}

std::string module_signature_end(std::size_t length) {
    Trailer trailer{};
    trailer.id_type = type_pkcs7;
    for (unsigned i = 0; i < 4; ++i)
        trailer.length[i] = static_cast<std::uint8_t>(length >> (24U - 8U * i));
    std::string end(sizeof trailer, '\0');
    std::memcpy(end.data(), &trailer, sizeof trailer);
    return end + std::string(magic);
}

} // namespace gpuhost::content
