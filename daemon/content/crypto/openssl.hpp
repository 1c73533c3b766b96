// SPDX-License-Identifier: Apache-2.0
// What the files of this room that use OpenSSL share. For these alone: it includes OpenSSL's headers.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace gpuhost::content {

using BioPtr = base::CHandle<BIO, BIO_free_all>;
using CmsPtr = base::CHandle<CMS_ContentInfo, CMS_ContentInfo_free>;

/// Takes OpenSSL's queue of errors and says the newest's reason; "unknown error" if it is empty.
[[nodiscard]] std::string openssl_reason();
/// Reads `text` where it lies.
[[nodiscard]] BioPtr memory_bio(std::string_view text);
/// What was written to a BIO of BIO_s_mem().
[[nodiscard]] std::string_view written(BIO* bio);
/// RFC 2253, control characters escaped.
[[nodiscard]] std::string name_text(const X509_NAME* name);
/// CN; empty without one.
[[nodiscard]] std::string common_name(const X509_NAME* name);
/// Lower-case hexadecimal.
[[nodiscard]] std::string hexadecimal(const ASN1_OCTET_STRING* bytes);
/// As hexadecimal(), without leading zeros, so that one number has one text. Negative ones begin with "-".
[[nodiscard]] std::string serial_text(const ASN1_INTEGER* serial);
/// Seconds since 1970; 0 for what is no time.
[[nodiscard]] std::uint64_t unix_time(const ASN1_TIME* time);

} // namespace gpuhost::content
