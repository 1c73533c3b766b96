// SPDX-License-Identifier: Apache-2.0
// Loads keys that a URI names. Only files of this folder may include this header, because it includes
// OpenSSL's headers.
#pragma once

#include <string>

#include <openssl/evp.h>

namespace gpuhost::content {

/// The passphrase for give_passphrase(). `asked` becomes true when OpenSSL asks for it.
struct Passphrase {
    const std::string& text;
    bool asked = false;
};
/// OpenSSL's pem_password_cb; `user` is a Passphrase. Never asks on a terminal. Fails if the passphrase is
/// empty.
extern "C" int give_passphrase(char* buffer, int size, int writing, void* user);

/// Returns a key that the caller must free; null after a failure, with the reason in OpenSSL's error queue.
[[nodiscard]] EVP_PKEY* load_key(const std::string& uri, Passphrase& passphrase);

} // namespace gpuhost::content
