// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/content/crypto/cms.hpp"
#include "daemon/content/crypto/openssl.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <algorithm>
#include <ctime>

#include <openssl/x509v3.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

using StorePtr = base::CHandle<X509_STORE, X509_STORE_free>;
using InfosPtr = base::CHandle<STACK_OF(X509_INFO), [](STACK_OF(X509_INFO) * infos) {
    sk_X509_INFO_pop_free(infos, X509_INFO_free);
}>;

constexpr int most_signers = 16;
constexpr int most_certificates = 64;
constexpr int strength = 2;                      ///< OpenSSL's authentication level for 112 bits
constexpr std::size_t largest_der = 256U << 20U; ///< fits OpenSSL's int and long arguments

struct PemFile {
    InfosPtr infos;
    std::vector<X509*> certificates; ///< owned by `infos`, like the elements of `lists`
    std::vector<X509_CRL*> lists;
};

Result<PemFile> read_pem(std::string_view pem, std::string_view what) {
    const auto bad = [&](std::string_view why) {
        return base::fail(Errc::BadContent, std::string(what) + ": " + std::string(why),
                          "Put only certificates and revocation lists in PEM there.");
    };
    const BioPtr bio = memory_bio(pem);
    PemFile file;
    file.infos.reset(PEM_X509_INFO_read_bio(bio.get(), nullptr, nullptr, nullptr));
    if (!file.infos)
        return bad(openssl_reason());
    for (int i = 0; i < sk_X509_INFO_num(file.infos.get()); ++i) {
        const X509_INFO* const info = sk_X509_INFO_value(file.infos.get(), i);
        if (info->x509 != nullptr)
            file.certificates.push_back(info->x509);
        if (info->crl != nullptr)
            file.lists.push_back(info->crl);
        if (info->x_pkey != nullptr)
            return bad("has a private key");
    }
    if (file.certificates.empty() && file.lists.empty())
        return bad("has no certificate and no revocation list");
    return file;
}

// --- verification of one certificate of a chain

/// The state of OpenSSL's callback; the store has a pointer to it.
struct Verification {
    std::vector<PemFile> files;
    int error = X509_V_OK;
    std::string subject; ///< of the certificate that failed
    std::string issuer;
    std::uint64_t not_before = 0;
    std::uint64_t not_after = 0;
};

bool has_list(const Verification& verification, const X509_NAME* issuer) {
    return std::any_of(verification.files.begin(), verification.files.end(), [&](const PemFile& file) {
        return std::any_of(file.lists.begin(), file.lists.end(), [&](X509_CRL* list) {
            return X509_NAME_cmp(X509_CRL_get_issuer(list), issuer) == 0;
        });
    });
}

/// Returns true if the certificate may sign code. Authorities must be allowed to do so too: an authority that
/// is restricted to other uses must not issue signers. If the extension is missing, OpenSSL returns
/// UINT32_MAX.
bool is_for_code(X509* certificate) {
    return (X509_get_extended_key_usage(certificate) & XKU_CODE_SIGN) != 0;
}

extern "C" int judge(int ok, X509_STORE_CTX* context) {
    X509_STORE* const store = X509_STORE_CTX_get0_store(context);
    auto* const verification = static_cast<Verification*>(X509_STORE_get_ex_data(store, 0));
    X509* const certificate = X509_STORE_CTX_get_current_cert(context);
    const bool signer = X509_STORE_CTX_get_error_depth(context) == 0; // check_usage() checks the signer
    if (ok == 1 && (certificate == nullptr || signer || is_for_code(certificate)))
        return 1;
    if (ok == 1)
        X509_STORE_CTX_set_error(context, X509_V_ERR_INVALID_PURPOSE);
    const int error = X509_STORE_CTX_get_error(context);
    if (error == X509_V_ERR_UNABLE_TO_GET_CRL && certificate != nullptr &&
        !has_list(*verification, X509_get_issuer_name(certificate)))
        return 1;
    if (verification->error != X509_V_OK)
        return 0;
    verification->error = error;
    if (certificate == nullptr)
        return 0;
    verification->subject = name_text(X509_get_subject_name(certificate));
    verification->issuer = name_text(X509_get_issuer_name(certificate));
    verification->not_before = unix_time(X509_get0_notBefore(certificate));
    verification->not_after = unix_time(X509_get0_notAfter(certificate));
    return 0;
}

base::Error refusal(const Verification& found, std::string_view what) {
    const std::string who = "the certificate '" + found.subject + "'";
    const std::string clock = "; this host's clock says " + base::utc_text(base::realtime_us() / 1'000'000);
    std::string why;
    std::string hint;
    switch (found.error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        why = who + " was valid until " + base::utc_text(found.not_after) + clock;
        hint = "Check the clock with 'timedatectl', or get the file signed again with a newer certificate.";
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        why = who + " is valid from " + base::utc_text(found.not_before) + " on" + clock;
        hint = "Check the clock with 'timedatectl'.";
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        why = "it is signed with '" + found.subject + "', but the authority '" + found.issuer +
              "' is not trusted";
        break;
    case X509_V_ERR_INVALID_PURPOSE:
        why = "the authority '" + found.subject + "' is not for signing code (extended key usage)";
        break;
    case X509_V_ERR_CERT_REVOKED:
        why = who + " was revoked by '" + found.issuer + "'";
        break;
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
        why = "the revocation list of '" + found.issuer + "' is not current" + clock;
        hint = "Add the authority's newest revocation list.";
        break;
    default:
        why = who + ": " + X509_verify_cert_error_string(found.error);
    }
    return {Errc::AccessDenied, std::string(what) + ": " + why, hint};
}

// --- the document

Result<CmsPtr> parse(std::string_view der, std::string_view what) {
    const auto bad = [&](std::string_view why) {
        ERR_clear_error();
        return base::fail(Errc::BadContent, std::string(what) + ": " + std::string(why));
    };
    if (der.size() > largest_der)
        return bad("too large for a signed document");
    const auto* at = reinterpret_cast<const unsigned char*>(der.data()); // OpenSSL's type for bytes
    const unsigned char* const end = at + der.size();
    CmsPtr cms(d2i_CMS_ContentInfo(nullptr, &at, static_cast<long>(der.size())));
    if (!cms || at != end)
        return bad("is not a CMS document");
    if (OBJ_obj2nid(CMS_get0_type(cms.get())) != NID_pkcs7_signed || CMS_is_detached(cms.get()) != 0)
        return bad("is not a signed document with its content inside");
    return cms;
}

/// Checks the number of signatures and their digests before any signature is verified.
Result<void> check_signatures(CMS_ContentInfo* cms, std::string_view what) {
    STACK_OF(CMS_SignerInfo)* const infos = CMS_get0_SignerInfos(cms); // owned by cms
    const base::CHandle<STACK_OF(X509), free_certificates> certificates(CMS_get1_certs(cms));
    if (sk_CMS_SignerInfo_num(infos) > most_signers || sk_X509_num(certificates.get()) > most_certificates)
        return base::fail(Errc::BadContent, std::string(what) + ": has too many signatures or certificates");
    for (int i = 0; i < sk_CMS_SignerInfo_num(infos); ++i) {
        X509_ALGOR* digest = nullptr;
        CMS_SignerInfo_get0_algs(sk_CMS_SignerInfo_value(infos, i), nullptr, nullptr, &digest, nullptr);
        const ASN1_OBJECT* object = nullptr;
        X509_ALGOR_get0(&object, nullptr, nullptr, digest);
        const EVP_MD* const known = EVP_get_digestbyobj(object);
        if (known == nullptr || EVP_MD_get_size(known) < 32)
            return base::fail(Errc::AccessDenied,
                              std::string(what) + ": signed with a weak or unknown digest");
    }
    return {};
}

Result<void> check_usage(X509* certificate, std::string_view what) {
    // If the extension is missing, OpenSSL returns a value in which this bit is set too.
    const bool signs = (X509_get_key_usage(certificate) & KU_DIGITAL_SIGNATURE) != 0;
    const bool code = is_for_code(certificate);
    if (signs && code)
        return {};
    return base::fail(Errc::AccessDenied,
                      std::string(what) + ": the certificate '" +
                          name_text(X509_get_subject_name(certificate)) + "' is not for " +
                          (signs ? "signing code (extended key usage)" : "signing (key usage)"));
}

/// Builds the store. With `partial` the chain may end at any trusted certificate, also at one that has an
/// issuer.
Result<StorePtr> make_store(Verification& verification, bool partial) {
    StorePtr store(X509_STORE_new());
    if (!store || X509_STORE_set_ex_data(store.get(), 0, &verification) != 1)
        return base::fail(Errc::Failed, "OpenSSL: " + openssl_reason());
    X509_STORE_set_verify_cb(store.get(), judge);
    X509_VERIFY_PARAM* const rules = X509_STORE_get0_param(store.get());
    // check_usage() checks the purpose. OpenSSL 3.0 does not have a purpose for code signing, and would check
    // for e-mail instead.
    X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_ANY);
    X509_VERIFY_PARAM_set_auth_level(rules, strength);
    X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL |
                                           (partial ? X509_V_FLAG_PARTIAL_CHAIN : 0));
    for (const PemFile& file : verification.files) {
        for (X509* const certificate : file.certificates)
            X509_STORE_add_cert(store.get(), certificate);
        for (X509_CRL* const list : file.lists)
            X509_STORE_add_crl(store.get(), list);
    }
    return store;
}

bool leads_nowhere(int error) {
    return error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
           error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
           error == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE;
}

/// Returns the content, or an error if a signature is not valid. If a certificate is the reason,
/// `verification` then describes it.
Result<std::string> verify(CMS_ContentInfo* cms, Verification& verification, bool partial) {
    GPUHOST_TRY(store, make_store(verification, partial));
    const BioPtr out(BIO_new(BIO_s_mem()));
    if (CMS_verify(cms, nullptr, store.get(), nullptr, out.get(), CMS_BINARY | CMS_NOCRL) == 1)
        return std::string(written(out.get()));
    return base::fail(Errc::AccessDenied, "its signature is not valid: " + openssl_reason());
}

Signer describe(X509* certificate) {
    unsigned char* der = nullptr;
    const int size = i2d_X509(certificate, &der);
    Signer signer;
    signer.subject = name_text(X509_get_subject_name(certificate));
    if (size > 0)
        signer.sha256 = sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
    signer.not_after = unix_time(X509_get0_notAfter(certificate));
    OPENSSL_free(der);
    return signer;
}

} // namespace

Result<void> TrustAnchors::add(std::string_view pem, std::string_view what) {
    GPUHOST_TRY(file, read_pem(pem, what));
    for (X509* const certificate : file.certificates)
        authorities_.push_back(name_text(X509_get_subject_name(certificate)));
    pems_.emplace_back(pem);
    return {};
}

Result<SignedDocument> verify_signed(std::string_view der, const TrustAnchors& trust, std::string_view what) {
    GPUHOST_TRY(cms, parse(der, what));
    GPUHOST_CHECK(check_signatures(cms.get(), what));
    Verification verification;
    for (const std::string& pem : trust.pems_) {
        GPUHOST_TRY(file, read_pem(pem, what));
        verification.files.push_back(std::move(file));
    }
    auto content = verify(cms.get(), verification, false);
    // As a second attempt, accept a chain that ends at a trusted intermediate authority. This attempt is the
    // second one, because it does not check whether that authority itself is revoked.
    if (!content && leads_nowhere(verification.error)) {
        verification.error = X509_V_OK;
        content = verify(cms.get(), verification, true);
    }
    if (!content && verification.error != X509_V_OK)
        return base::fail(refusal(verification, what));
    if (!content)
        return base::fail(content.error().context(what));
    const base::CHandle<STACK_OF(X509), [](STACK_OF(X509) * certificates) { sk_X509_free(certificates); }>
        signers(CMS_get0_signers(cms.get()));
    for (int i = 0; i < sk_X509_num(signers.get()); ++i)
        GPUHOST_CHECK(check_usage(sk_X509_value(signers.get(), i), what));
    return SignedDocument{*std::move(content), describe(sk_X509_value(signers.get(), 0))};
}

Result<std::string> signed_content_unverified(std::string_view der, std::string_view what) {
    GPUHOST_TRY(cms, parse(der, what));
    ASN1_OCTET_STRING** const content = CMS_get0_content(cms.get());
    if (content == nullptr || *content == nullptr)
        return base::fail(Errc::BadContent, std::string(what) + ": is empty");
    return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(*content)),
                       static_cast<std::size_t>(ASN1_STRING_length(*content)));
}

} // namespace gpuhost::content
