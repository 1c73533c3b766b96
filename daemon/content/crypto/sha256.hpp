// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

struct evp_md_ctx_st; // OpenSSL's, which only this room includes

namespace gpuhost::content {

void free_digest_context(evp_md_ctx_st* context) noexcept;

/// SHA-256 of what is fed to it, as 64 lower-case hex digits.
class Sha256 {
  public:
    Sha256();
    void update(std::string_view data);
    [[nodiscard]] std::string finish(); ///< once; nothing may be fed afterwards

  private:
    base::CHandle<evp_md_ctx_st, free_digest_context> context_;
};

[[nodiscard]] std::string sha256(std::string_view data);

struct FileDigest {
    std::string sha256;
    std::uint64_t size = 0;
};

/// Of the whole file, wherever the descriptor's offset stands; the offset is left alone. `on_bytes` is told
/// after each block, to show progress.
[[nodiscard]] base::Result<FileDigest>
sha256_of_file(int fd, std::string_view what, const std::function<void(std::uint64_t)>& on_bytes = {});

/// 64 lower-case hex digits: what may become a path component.
[[nodiscard]] bool is_sha256(std::string_view text) noexcept;

} // namespace gpuhost::content
