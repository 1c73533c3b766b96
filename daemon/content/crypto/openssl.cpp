// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/openssl.hpp"

#include "daemon/base/hex.hpp"

#include <algorithm>
#include <ctime>

namespace gpuhost::content {

std::string openssl_reason() {
    const unsigned long code = ERR_peek_last_error();
    const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    ERR_clear_error();
    return reason == nullptr ? "unknown error" : reason;
}

BioPtr memory_bio(std::string_view text) {
    return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string_view written(BIO* bio) {
    char* data = nullptr;
    const long size =
        BIO_get_mem_data(bio, &data); // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): its macro
    return size > 0 ? std::string_view(data, static_cast<std::size_t>(size)) : std::string_view();
}

std::string name_text(const X509_NAME* name) {
    const BioPtr out(BIO_new(BIO_s_mem()));
    if (!out || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0)
        return "?";
    return std::string(written(out.get()));
}

std::string common_name(const X509_NAME* name) {
    const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (at < 0)
        return {};
    unsigned char* text = nullptr;
    const int length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (length < 0)
        return {};
    std::string made(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
    OPENSSL_free(text);
    return made;
}

std::string hexadecimal(const ASN1_OCTET_STRING* bytes) {
    return base::to_hex({ASN1_STRING_get0_data(bytes), static_cast<std::size_t>(ASN1_STRING_length(bytes))});
}

std::string serial_text(const ASN1_INTEGER* serial) {
    const std::string text = hexadecimal(serial); // an ASN1_INTEGER holds the magnitude
    const auto first = std::min(text.find_first_not_of('0'), text.empty() ? 0 : text.size() - 1);
    const bool negative = ASN1_STRING_type(serial) == V_ASN1_NEG_INTEGER;
    return (negative ? "-" : "") + text.substr(first);
}

std::uint64_t unix_time(const ASN1_TIME* time) {
    std::tm parts{};
    if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1)
        return 0;
    const std::time_t seconds = ::timegm(&parts);
    return seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds);
}

} // namespace gpuhost::content
