// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/cms.hpp"
#include "daemon/content/crypto/module_signature.hpp"
#include "daemon/content/crypto/openssl.hpp"

namespace gpuhost::content {

using base::Errc;
using base::Result;

Result<std::string> SigningKey::sign_module(std::string_view image, const std::string& hash) const {
    const auto failed = [](std::string_view what) {
        return base::fail(Errc::Failed, "signing a module: " + std::string(what) + ": " + openssl_reason());
    };
    const EVP_MD* const digest = hash == "sha256"   ? EVP_sha256()
                                 : hash == "sha384" ? EVP_sha384()
                                 : hash == "sha512" ? EVP_sha512()
                                                    : nullptr;
    if (digest == nullptr)
        return base::fail(Errc::InvalidArgument, "'" + hash + "' is not a hash for modules");
    // The flags of scripts/sign-file: no certificate and no attributes inside, so the bytes depend only on
    // the image.
    const CmsPtr cms(CMS_sign(nullptr, nullptr, nullptr, nullptr,
                              CMS_NOCERTS | CMS_PARTIAL | CMS_BINARY | CMS_DETACHED | CMS_STREAM));
    if (!cms || CMS_add1_signer(cms.get(), certificate_.get(), key_.get(), digest,
                                CMS_NOCERTS | CMS_BINARY | CMS_NOSMIMECAP | CMS_NOATTR) == nullptr)
        return failed("CMS_add1_signer");
    const BioPtr in = memory_bio(image);
    const BioPtr out(BIO_new(BIO_s_mem()));
    if (!in || !out || CMS_final(cms.get(), in.get(), nullptr, CMS_NOCERTS | CMS_BINARY) != 1 ||
        i2d_CMS_bio(out.get(), cms.get()) != 1)
        return failed("CMS_final");
    std::string signature(written(out.get()));
    return signature + module_signature_end(signature.size());
}

} // namespace gpuhost::content
