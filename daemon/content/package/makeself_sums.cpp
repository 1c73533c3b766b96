// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/hex.hpp"
#include "daemon/base/page_buffer.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/openssl.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "daemon/content/package/makeself.hpp"

#include <array>
#include <cerrno>
#include <span>

#include <openssl/evp.h>
#include <unistd.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

/// Computes the CRC of POSIX cksum(1): the highest bit of a byte first, and the length appended to the bytes.
class Cksum {
  public:
    void update(std::string_view bytes) {
        for (const char byte : bytes)
            step(static_cast<unsigned char>(byte));
        size_ += bytes.size();
    }
    [[nodiscard]] std::uint32_t finish() {
        for (std::uint64_t rest = size_; rest != 0; rest >>= 8U)
            step(static_cast<unsigned char>(rest & 0xffU));
        return ~sum_;
    }

  private:
    static constexpr std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t sum = i << 24U;
            for (int bit = 0; bit < 8; ++bit)
                sum = (sum & 0x80000000U) != 0 ? sum << 1U ^ 0x04c11db7U : sum << 1U;
            made[i] = sum;
        }
        return made;
    }();
    void step(unsigned char byte) { sum_ = sum_ << 8U ^ table[(sum_ >> 24U ^ byte) & 0xffU]; }

    std::uint32_t sum_ = 0;
    std::uint64_t size_ = 0;
};

/// Computes the MD5 to compare with the header's. finish() returns an empty string if OpenSSL does not offer
/// MD5.
class Md5 {
  public:
    explicit Md5(bool wanted) : context_(wanted ? EVP_MD_CTX_new() : nullptr) {
        if (context_ && EVP_DigestInit_ex(context_.get(), EVP_md5(), nullptr) != 1) {
            (void)openssl_reason(); // clears the error queue
            context_.reset();
        }
    }
    void update(std::string_view bytes) {
        if (context_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1)
            context_.reset();
    }
    [[nodiscard]] std::string finish() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
        unsigned size = 0;
        if (!context_ || EVP_DigestFinal_ex(context_.get(), raw.data(), &size) != 1)
            return {};
        return base::to_hex(std::span(raw).first(size));
    }

  private:
    base::CHandle<evp_md_ctx_st, free_digest_context> context_;
};

Result<void> compare(std::string_view what, std::string_view kind, const std::string& said,
                     const std::string& found) {
    if (said.empty() || found.empty() || said == found)
        return {};
    return base::fail(Errc::BadContent,
                      std::string(what) + ": " + std::string(kind) + " mismatch (header: " + said +
                          ", found: " + found + ")",
                      "Fetch the file again: it is damaged.");
}

} // namespace

Result<void> check_makeself_sums(int fd, const MakeselfHeader& header, std::string_view what) {
    Cksum cksum;
    Md5 md5(!header.md5.empty());
    Sha256 sha256;
    const base::PageBuffer buffer(std::size_t{256} << 10U);
    const std::uint64_t end = header.offset + header.size;
    for (std::uint64_t at = header.summed; at < end;) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), end - at));
        const ssize_t n = ::pread(fd, buffer.data(), most, static_cast<off_t>(at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return base::fail_errno(what, errno);
        if (n == 0)
            return base::fail(Errc::BadContent, std::string(what) + ": became shorter while it was read");
        const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
        cksum.update(bytes);
        md5.update(bytes);
        if (!header.sha256.empty())
            sha256.update(bytes);
        at += bytes.size();
    }
    const std::string found = md5.finish();
    if (header.crc.empty() && header.sha256.empty() && !header.md5.empty() && found.empty())
        return base::fail(Errc::Unsupported,
                          std::string(what) + ": its only sum is an MD5, which OpenSSL refuses on this host",
                          "Import it on a host without FIPS mode, and import its bundle here.");
    GPUHOST_CHECK(compare(what, "CRC", header.crc, std::to_string(cksum.finish())));
    GPUHOST_CHECK(compare(what, "MD5", header.md5, found));
    return compare(what, "SHA-256", header.sha256, header.sha256.empty() ? "" : sha256.finish());
}

} // namespace gpuhost::content
