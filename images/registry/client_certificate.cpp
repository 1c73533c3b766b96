// SPDX-License-Identifier: Apache-2.0
#include "images/registry/client_certificate.hpp"

#include <array>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

namespace gpuhost::images {

namespace {

std::string words_of(unsigned status) {
    gnutls_datum_t text{};
    if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) < 0)
        return "its certificate is not trusted";
    std::string words(reinterpret_cast<const char*>(text.data), text.size);
    gnutls_free(text.data);
    return words;
}

} // namespace

std::string client_objection(void* session) {
    auto* const tls = static_cast<gnutls_session_t>(session);
    std::string purpose = GNUTLS_KP_TLS_WWW_CLIENT;
    std::array<gnutls_typed_vdata_st, 1> wanted{
        {{GNUTLS_DT_KEY_PURPOSE_OID, reinterpret_cast<unsigned char*>(purpose.data()), 0}}};
    unsigned status = 0;
    const int r = gnutls_certificate_verify_peers(tls, wanted.data(), wanted.size(), &status);
    if (r == GNUTLS_E_NO_CERTIFICATE_FOUND)
        return "a client certificate of this site's authority for peers is required";
    if (r < 0)
        return gnutls_strerror(r);
    return status == 0 ? std::string() : words_of(status);
}

} // namespace gpuhost::images
