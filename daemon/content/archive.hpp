// SPDX-License-Identifier: Apache-2.0
// Reads archives that came from outside: one member after the other, each limit and name checked before the
// caller sees it. Nothing is executed (no external filter program) and nothing is written.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/content/sha256.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::content {

enum class ArchiveFormat {
    Ar,  ///< as .deb files have it outside
    Tar, ///< plain, or compressed with gzip, xz or zstd
    Raw, ///< one compressed file, seen as one member
};

struct ArchiveLimits {
    std::uint64_t entries = 50'000;
    std::uint64_t entry_bytes = std::uint64_t{2} << 30U; ///< one member, unpacked
    std::uint64_t total_bytes = std::uint64_t{8}
                                << 30U; ///< all members, unpacked, those that are skipped as well
    std::size_t path_bytes = 1024;
};

struct ArchiveEntry {
    enum class Type { File, Directory, SymbolicLink, HardLink };
    Type type = Type::File;
    std::string path;       ///< relative, no "." or ".." in it; empty for the archive's own root directory
    std::string target;     ///< of a symbolic link as written; of a hard link another member's path
    unsigned mode = 0;      ///< permission bits as written, set-id bits removed
    std::uint64_t size = 0; ///< as declared; 0 in Raw, where it isn't
};

/// Every error names the archive (`what`) and the member. What is refused as BadContent: absolute or climbing
/// paths, control characters in names, members that come twice, devices, sockets and pipes, and whatever is
/// over a limit.
class ArchiveReader {
  public:
    /// Reads a regular file from its start by pread(2). `fd` must stay open.
    [[nodiscard]] static base::Result<ArchiveReader> open(int fd, ArchiveFormat format, std::string what,
                                                          const ArchiveLimits& limits = {});
    [[nodiscard]] static base::Result<ArchiveReader> open(std::string_view memory, ArchiveFormat format,
                                                          std::string what, const ArchiveLimits& limits = {});
    /// Reads the member where `outer` stands, as a stream. `outer` must outlive it and not go on meanwhile.
    [[nodiscard]] static base::Result<ArchiveReader> open(ArchiveReader& outer, ArchiveFormat format,
                                                          std::string what, const ArchiveLimits& limits = {});

    ArchiveReader(ArchiveReader&&) noexcept;
    ArchiveReader& operator=(ArchiveReader&&) noexcept;
    ArchiveReader(const ArchiveReader&) = delete;
    ArchiveReader& operator=(const ArchiveReader&) = delete;
    ~ArchiveReader();

    /// The next member, skipping what is left of this one; nothing at the end.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next();

    /// Content of the member where the reader stands.
    [[nodiscard]] base::Result<std::string> read_all(std::size_t limit);
    /// Writes it to `fd` and says what was written. `on_bytes` is told after each block, to show progress.
    [[nodiscard]] base::Result<FileDigest> copy_to(int fd,
                                                   const std::function<void(std::uint64_t)>& on_bytes = {});

  private:
    struct State;
    using Source = std::function<base::Result<std::string_view>()>; ///< next bytes; empty at the end
    explicit ArchiveReader(std::unique_ptr<State> state);
    [[nodiscard]] static base::Result<ArchiveReader>
    open_source(Source source, ArchiveFormat format, std::string what, const ArchiveLimits& limits);
    [[nodiscard]] static base::Result<std::string_view> read_block(State& state);

    std::unique_ptr<State> state_;
};

/// `path` without "./" and doubled slashes; nothing if it is absolute, climbs, or has control characters.
[[nodiscard]] std::optional<std::string> safe_relative_path(std::string_view path);

} // namespace gpuhost::content
