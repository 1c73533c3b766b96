// SPDX-License-Identifier: Apache-2.0
#include "images/tls_keys.hpp"

#include "daemon/base/root.hpp"

#include <cstdlib>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t key_limit = 1U << 20U;

} // namespace

Result<std::string> tls_keys_directory() {
    const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
    if (directory == nullptr || *directory == '\0')
        return base::fail(
            Errc::NotFound, "no certificate was given to it",
            "Put ca.pem, cert.pem and key.pem into /etc/gpuhost/peers; its unit hands them over.");
    return std::string(directory);
}

Result<TlsKeys> read_tls_keys() {
    GPUHOST_TRY(name, tls_keys_directory());
    GPUHOST_TRY(directory, base::Root::open(name));
    GPUHOST_TRY(authorities, directory.read("/ca.pem", key_limit));
    GPUHOST_TRY(certificate, directory.read("/cert.pem", key_limit));
    GPUHOST_TRY(key, directory.read("/key.pem", key_limit));
    return TlsKeys{std::move(authorities), std::move(certificate), std::move(key)};
}

} // namespace gpuhost::images
