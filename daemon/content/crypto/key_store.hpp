// SPDX-License-Identifier: Apache-2.0
// Loads keys that a URI names. Only for the files of this folder: it includes OpenSSL's headers.
#pragma once

#include <string>

#include <openssl/evp.h>

namespace gpuhost::content {

/// The passphrase for give_passphrase(), and whether it was asked for.
struct Passphrase {
    const std::string& text;
    bool asked = false;
};
/// OpenSSL's pem_password_cb; `user` is a Passphrase. Never asks on a terminal. An empty text counts as no
/// passphrase.
extern "C" int give_passphrase(char* buffer, int size, int writing, void* user);

/// Returns a key that the caller must free. Null: failed, with the reason in OpenSSL's queue.
[[nodiscard]] EVP_PKEY* load_key(const std::string& uri, Passphrase& passphrase);

} // namespace gpuhost::content
