// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/sha256.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/page_buffer.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <span>

#include <openssl/evp.h>
#include <unistd.h>

namespace gpuhost::content {

namespace {

/// Aborts if OpenSSL fails. SHA-256 fails only without memory, or with a provider that lacks it; both are
/// unrecoverable.
void require(bool ok) {
    if (!ok)
        std::abort();
}

} // namespace

void free_digest_context(evp_md_ctx_st* context) noexcept {
    EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
    require(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::update(std::string_view data) {
    require(EVP_DigestUpdate(context_.get(), data.data(), data.size()) == 1);
}

std::string Sha256::finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    unsigned size = 0;
    require(EVP_DigestFinal_ex(context_.get(), raw.data(), &size) == 1);
    return base::to_hex(std::span(raw).first(size));
}

std::string sha256(std::string_view data) {
    Sha256 hash;
    hash.update(data);
    return hash.finish();
}

base::Result<FileDigest> sha256_of_file(int fd, std::string_view what,
                                        const std::function<void(std::uint64_t)>& on_bytes) {
    Sha256 hash;
    const base::PageBuffer buffer(std::size_t{256} << 10U);
    std::uint64_t size = 0;
    for (;;) {
        const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(size));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return base::fail_errno(what, errno);
        if (n == 0)
            break;
        hash.update({buffer.data(), static_cast<std::size_t>(n)});
        size += static_cast<std::uint64_t>(n);
        if (on_bytes)
            on_bytes(static_cast<std::uint64_t>(n));
    }
    return FileDigest{hash.finish(), size};
}

bool is_sha256(std::string_view text) noexcept {
    return text.size() == 64 && base::is_hex(text);
}

} // namespace gpuhost::content
