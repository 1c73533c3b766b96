// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/openssl.hpp"

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

std::uint64_t unix_time(const ASN1_TIME* time) {
    std::tm parts{};
    if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1)
        return 0;
    const std::time_t seconds = ::timegm(&parts);
    return seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds);
}

} // namespace gpuhost::content
