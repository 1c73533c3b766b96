// SPDX-License-Identifier: Apache-2.0
// Writes a compressed tar. The same members and the same TarForm always give the same bytes: no owners are
// stored, and all members have one time.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace gpuhost::content {

struct TarForm {
    enum class Packing { Zstd, Gzip };
    Packing packing = Packing::Zstd;
    std::uint64_t time = 0; ///< of all members, seconds since 1970
    mode_t mode = 0644;     ///< of files; an executable file also gets x for everybody who may read it
};

class TarWriter {
  public:
    /// Writes to `fd` from its current position; `fd` must stay open. `what` is for messages.
    [[nodiscard]] static base::Result<TarWriter> create(int fd, std::string what, const TarForm& form = {});
    TarWriter(TarWriter&&) noexcept;
    TarWriter& operator=(TarWriter&&) noexcept;
    TarWriter(const TarWriter&) = delete;
    TarWriter& operator=(const TarWriter&) = delete;
    ~TarWriter();

    /// Begins a file; exactly `size` bytes of write() follow.
    [[nodiscard]] base::Result<void> begin(const std::string& path, bool executable, std::uint64_t size);
    [[nodiscard]] base::Result<void> write(std::string_view bytes);
    [[nodiscard]] base::Result<void> add_link(const std::string& path, const std::string& target);
    /// Ends the tar and returns the digest and size of what was written.
    [[nodiscard]] base::Result<FileDigest> finish();

  private:
    struct State;
    explicit TarWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace gpuhost::content
