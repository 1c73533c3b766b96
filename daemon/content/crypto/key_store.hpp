// SPDX-License-Identifier: Apache-2.0
// Keys that a URI names. For the files of this room alone: it includes OpenSSL's headers.
#pragma once

#include <string>

#include <openssl/evp.h>

namespace gpuhost::content {

/// What give_passphrase() gives, and whether it was asked to.
struct Passphrase {
    const std::string& text;
    bool asked = false;
};
/// OpenSSL's pem_password_cb; `user` is a Passphrase. Never asks on a terminal; an empty one is none.
extern "C" int give_passphrase(char* buffer, int size, int writing, void* user);

/// The caller's to free. Null with OpenSSL's reason in its queue.
[[nodiscard]] EVP_PKEY* load_key(const std::string& uri, Passphrase& passphrase);

} // namespace gpuhost::content
