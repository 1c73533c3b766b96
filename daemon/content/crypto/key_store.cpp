// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/key_store.hpp"

#include "daemon/base/handle.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/store.h>
#include <openssl/ui.h>
#ifndef OPENSSL_NO_ENGINE
#include <openssl/engine.h>
#endif

namespace gpuhost::content {

namespace {

using UiPtr = base::CHandle<UI_METHOD, UI_destroy_method>;
using StorePtr = base::CHandle<OSSL_STORE_CTX, OSSL_STORE_close>;
using InfoPtr = base::CHandle<OSSL_STORE_INFO, OSSL_STORE_INFO_free>;

EVP_PKEY* load_from_store(const std::string& uri, UI_METHOD* ui, Passphrase& passphrase) {
    const StorePtr store(OSSL_STORE_open(uri.c_str(), ui, &passphrase, nullptr, nullptr));
    if (!store || OSSL_STORE_expect(store.get(), OSSL_STORE_INFO_PKEY) != 1)
        return nullptr;
    while (OSSL_STORE_eof(store.get()) == 0) {
        const InfoPtr info(OSSL_STORE_load(store.get()));
        if (info && OSSL_STORE_INFO_get_type(info.get()) == OSSL_STORE_INFO_PKEY)
            return OSSL_STORE_INFO_get1_PKEY(info.get());
        if (!info && OSSL_STORE_error(store.get()) != 0)
            return nullptr;
    }
    return nullptr;
}

#ifndef OPENSSL_NO_ENGINE
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Loads a key with the engine pkcs11: OpenSSL 3.0 has no provider for tokens, and Debian 12 has only the
/// engine. The engine is not freed, because the key depends on it.
EVP_PKEY* load_from_engine(const std::string& uri, UI_METHOD* ui, Passphrase& passphrase) {
    OPENSSL_init_crypto(OPENSSL_INIT_ENGINE_DYNAMIC, nullptr);
    ENGINE* const engine = ENGINE_by_id("pkcs11");
    if (engine == nullptr)
        return nullptr;
    if (ENGINE_init(engine) != 1) {
        ENGINE_free(engine);
        return nullptr;
    }
    return ENGINE_load_private_key(engine, uri.c_str(), ui, &passphrase);
}

#pragma GCC diagnostic pop
#else
EVP_PKEY* load_from_engine(const std::string&, UI_METHOD*, Passphrase&) {
    return nullptr;
}
#endif

} // namespace

EVP_PKEY* load_key(const std::string& uri, Passphrase& passphrase) {
    OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, nullptr);
    const UiPtr ui(UI_UTIL_wrap_read_pem_callback(give_passphrase, 0));
    if (!ui)
        return nullptr;
    ERR_clear_error();
    EVP_PKEY* key = load_from_store(uri, ui.get(), passphrase);
    // A provider that asked for the passphrase has the key, so its failure is final.
    if (key == nullptr && !passphrase.asked)
        key = load_from_engine(uri, ui.get(), passphrase);
    if (key != nullptr)
        ERR_clear_error(); // errors of sources that do not have the key
    return key;
}

} // namespace gpuhost::content
