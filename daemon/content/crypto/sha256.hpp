// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

struct evp_md_ctx_st; // type of OpenSSL, whose headers only this folder includes

namespace gpuhost::content {

void free_digest_context(evp_md_ctx_st* context) noexcept;

/// Computes the SHA-256 of the data that update() gets, as 64 lower-case hex digits.
class Sha256 {
  public:
    Sha256();
    void update(std::string_view data);
    [[nodiscard]] std::string finish(); ///< may be called once; update() must not follow

  private:
    base::CHandle<evp_md_ctx_st, free_digest_context> context_;
};

[[nodiscard]] std::string sha256(std::string_view data);

struct FileDigest {
    std::string sha256;
    std::uint64_t size = 0;
};

/// Hashes the whole file from its start. Ignores the descriptor's offset and does not change it. Calls
/// `on_bytes` with the size of each block, to show progress.
[[nodiscard]] base::Result<FileDigest>
sha256_of_file(int fd, std::string_view what, const std::function<void(std::uint64_t)>& on_bytes = {});

/// Returns true if the text is 64 lower-case hex digits, and thus safe as a path component.
[[nodiscard]] bool is_sha256(std::string_view text) noexcept;

} // namespace gpuhost::content
