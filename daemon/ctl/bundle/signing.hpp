// SPDX-License-Identifier: Apache-2.0
// Options of the verbs that write and sign a bundle.
#pragma once

#include "daemon/content/crypto/cms.hpp"
#include "daemon/ctl/cli/verb.hpp"

#include <string>

namespace gpuhost::ctl {

class Session;

inline constexpr Option output_option{"output", "PATH", "the bundle to write", false, false, 'o'};
inline constexpr Option sign_key_option{
    "sign-key", "FILE", "the private key in PEM, key and certificate in PKCS#12, or a pkcs11: URI"};
inline constexpr Option certificate_option{
    "cert", "FILE", "the key's certificate in PEM, followed by those between it and the authority"};
inline constexpr Option passphrase_option{"passphrase-file", "FILE",
                                          "the file whose first line is the key's passphrase or PIN"};

/// Fails with InvalidArgument if a required option is missing.
[[nodiscard]] base::Result<std::string> chosen_output(const Session& session);
[[nodiscard]] base::Result<content::SigningKey> chosen_key(const Session& session);

} // namespace gpuhost::ctl
