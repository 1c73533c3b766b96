// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/base64.hpp"

#include <openssl/evp.h>

namespace gpuhost::content {

std::string encode_base64(std::string_view bytes) {
    std::string encoded((bytes.size() + 2) / 3 * 4, '\0');
    (void)EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                          reinterpret_cast<const unsigned char*>(bytes.data()),
                          static_cast<int>(bytes.size()));
    return encoded;
}

std::optional<std::string> decode_base64(std::string_view text) {
    std::string digits(text);
    std::erase_if(digits, [](char c) { return c == '\r' || c == '\n'; });
    const std::size_t padding = digits.size() - (digits.find_last_not_of('=') + 1);
    // EVP_DecodeBlock() accepts '=' as a digit anywhere, so this is checked here. It also skips blanks at the
    // ends of the text; the shorter result shows them below.
    if (digits.size() % 4 != 0 || padding > 2 || digits.find('=') < digits.size() - padding)
        return std::nullopt;
    std::string decoded(digits.size() / 4 * 3, '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                     reinterpret_cast<const unsigned char*>(digits.data()),
                                     static_cast<int>(digits.size()));
    if (size != static_cast<int>(decoded.size()))
        return std::nullopt;
    decoded.resize(decoded.size() - padding);
    return decoded;
}

} // namespace gpuhost::content
