// SPDX-License-Identifier: Apache-2.0
// Helpers for the files of this folder that use OpenSSL. Only these files may include this header, because it
// includes OpenSSL's headers.
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

/// Returns the reason of the newest error in OpenSSL's queue; "unknown error" if the queue is empty. Clears
/// the queue.
[[nodiscard]] std::string openssl_reason();
/// Returns a BIO that reads `text` without a copy; `text` must outlive it.
[[nodiscard]] BioPtr memory_bio(std::string_view text);
/// Returns the bytes that were written to a BIO of BIO_s_mem(). The BIO owns these bytes.
[[nodiscard]] std::string_view written(BIO* bio);
/// Returns a name in the format of RFC 2253, with control characters escaped.
[[nodiscard]] std::string name_text(const X509_NAME* name);
/// Returns the CN of a name; empty if the name does not have one.
[[nodiscard]] std::string common_name(const X509_NAME* name);
/// Returns the bytes in lower-case hexadecimal.
[[nodiscard]] std::string hexadecimal(const ASN1_OCTET_STRING* bytes);
/// Returns a serial number in lower-case hexadecimal without leading zeros, so each number has one text.
/// Negative numbers begin with "-".
[[nodiscard]] std::string serial_text(const ASN1_INTEGER* serial);
/// Converts a time to seconds since 1970; 0 if it is not a valid time.
[[nodiscard]] std::uint64_t unix_time(const ASN1_TIME* time);

} // namespace gpuhost::content
