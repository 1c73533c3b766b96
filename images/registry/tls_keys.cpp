// SPDX-License-Identifier: Apache-2.0
#include "images/registry/tls_keys.hpp"

#include "daemon/base/root.hpp"

#include <cstdlib>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t key_limit = 1U << 20U;

Result<std::string> tls_keys_directory() {
    const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
    if (directory == nullptr || *directory == '\0')
        return base::fail(
            Errc::NotFound, "no certificate: $CREDENTIALS_DIRECTORY is not set",
            "Copy ca.pem, cert.pem and key.pem to /etc/gpuhost/peers; the unit loads them from there.");
    return std::string(directory);
}

} // namespace

Result<TlsKeys> read_tls_keys() {
    GPUHOST_TRY(name, tls_keys_directory());
    GPUHOST_TRY(host,
                // Other roots are opened with openat2(2), which the unit's sandbox forbids.
                base::Root::open("/"));
    GPUHOST_TRY(authorities, host.read(name + "/ca.pem", key_limit));
    GPUHOST_TRY(certificate, host.read(name + "/cert.pem", key_limit));
    GPUHOST_TRY(key, host.read(name + "/key.pem", key_limit));
    return TlsKeys{std::move(authorities), std::move(certificate), std::move(key)};
}

} // namespace gpuhost::images
