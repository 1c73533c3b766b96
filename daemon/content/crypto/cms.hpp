// SPDX-License-Identifier: Apache-2.0
// Verifies and makes documents signed with a site's own certificates: CMS SignedData (RFC 5652, DER) that
// contains the document.
//
// Verifying needs no network: certificate authorities and revocation lists are files. A signer's certificate
// is accepted if it
//   - chains to one of the authorities, and each certificate of the chain is valid now by this host's clock
//   - may sign by its key usage, if it has one, and has codeSigning in its extended key usage, if it has one;
//     the rule for extended key usage applies to the authorities of the chain too
//   - is in no revocation list. If an authority has lists, one of them must be current. If the authority has
//     no list, its certificates count as not revoked
//   - has a key, and a signature over a digest, of at least 112 bits' strength (NIST SP 800-57)
// Every signature of a document must be valid. Revocation lists and time stamps inside a document are
// ignored.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st; // type of OpenSSL, whose headers only this folder includes
struct x509_st;
struct stack_st_X509;

namespace gpuhost::content {

void free_key(evp_pkey_st* key) noexcept;
void free_certificate(x509_st* certificate) noexcept;
void free_certificates(stack_st_X509* certificates) noexcept;

/// Certificate authorities that a site trusts, and their revocation lists.
class TrustAnchors {
  public:
    /// Adds all certificates and revocation lists of one PEM file. Fails with BadContent naming `what`, and
    /// adds nothing, if the file contains anything else or cannot be read.
    [[nodiscard]] base::Result<void> add(std::string_view pem, std::string_view what);
    [[nodiscard]] bool empty() const { return authorities_.empty(); }
    /// Returns the names of the authorities, for messages.
    [[nodiscard]] const std::vector<std::string>& authorities() const { return authorities_; }

  private:
    friend base::Result<struct SignedDocument> verify_signed(std::string_view der, const TrustAnchors& trust,
                                                             std::string_view what);
    /// Contents of PEM files; OpenSSL's store is built from them for each document.
    std::vector<std::string> pems_;
    std::vector<std::string> authorities_;
};

struct Signer {
    std::string subject;         ///< RFC 2253: "CN=Release key,O=Site"
    std::string sha256;          ///< of the certificate, 64 hex digits
    std::uint64_t not_after = 0; ///< seconds since 1970
};

struct SignedDocument {
    std::string content;
    Signer signer; ///< of the first signature
};

/// Verifies a document. Fails with AccessDenied and the reason if a signature is not valid. Fails with
/// BadContent if `der` is not a CMS SignedData that contains its document.
[[nodiscard]] base::Result<SignedDocument> verify_signed(std::string_view der, const TrustAnchors& trust,
                                                         std::string_view what);

/// Returns the document without verifying its signatures. Use it only to show a document that was refused.
[[nodiscard]] base::Result<std::string> signed_content_unverified(std::string_view der,
                                                                  std::string_view what);

/// A private key, its certificate, and intermediate certificates. Opening fails with AccessDenied if the key
/// needs a passphrase that is missing or wrong.
class SigningKey {
  public:
    /// `certificates` is PEM: the signer's first, then intermediate ones. `key` is PEM; if the key is
    /// encrypted, `passphrase` decrypts it.
    [[nodiscard]] static base::Result<SigningKey>
    from_pem(std::string_view key, std::string_view certificates, const std::string& passphrase);
    /// Reads the key and its certificates from PKCS#12 (DER).
    [[nodiscard]] static base::Result<SigningKey> from_pkcs12(std::string_view der,
                                                              const std::string& passphrase);

    /// Opens a key that a URI names, for example one that never leaves a token:
    /// "pkcs11:token=site;object=bundles". OpenSSL first searches the providers that openssl.cnf loads, then
    /// the engine pkcs11. `passphrase` is the PIN of the token.
    [[nodiscard]] static base::Result<SigningKey>
    from_uri(const std::string& uri, std::string_view certificates, const std::string& passphrase);

    /// Signs `content` with the signing time `time`, in seconds since 1970. With a deterministic algorithm,
    /// such as RSA PKCS #1 v1.5, the same key, content and time give the same bytes.
    [[nodiscard]] base::Result<std::string> sign(std::string_view content, std::uint64_t time) const;

    /// Returns the bytes that sign a kernel module when they are appended to it. They are the same as those
    /// of the kernel's scripts/sign-file. `hash` is "sha256", "sha384" or "sha512"; fails with
    /// InvalidArgument for others.
    [[nodiscard]] base::Result<std::string> sign_module(std::string_view image,
                                                        const std::string& hash) const;

  private:
    [[nodiscard]] base::Result<void> add_certificates(std::string_view pem);
    [[nodiscard]] base::Result<void> check() const;
    base::CHandle<evp_pkey_st, free_key> key_;
    base::CHandle<x509_st, free_certificate> certificate_;
    base::CHandle<stack_st_X509, free_certificates> chain_;
};

} // namespace gpuhost::content
