// SPDX-License-Identifier: Apache-2.0
// Reads archives that came from outside: one member after the other, each limit and name checked before the
// caller sees it. Nothing is executed (no external filter program) and nothing is written.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::content {

enum class ArchiveFormat {
    Ar, ///< as .deb files have it outside
    Tar, ///< plain, or compressed with gzip, xz or zstd; bzip2, lzma and lz4 where libarchive has them built in
    Cpio, ///< likewise, as .rpm files have it inside
    Raw,  ///< one compressed file, seen as one member
};

struct ArchiveLimits {
    std::uint64_t entries = 50'000;
    std::uint64_t entry_bytes = std::uint64_t{2} << 30U; ///< one member, unpacked
    std::uint64_t total_bytes = std::uint64_t{8}
                                << 30U; ///< all members, unpacked, those that are skipped as well
    std::size_t path_bytes = 1024;
    /// Bytes that one byte of input may unpack to, on average and beyond the first `unrated_bytes`; 0: any number.
    std::uint64_t ratio = 0;
    std::uint64_t unrated_bytes = std::uint64_t{256} << 20U;
};

/// Where an archive lies in a regular file.
struct FilePart {
    int fd = -1; ///< not owned
    std::uint64_t offset = 0;
    std::uint64_t size = std::numeric_limits<std::uint64_t>::max(); ///< more than there is: to the end
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
    /// Reads a regular file by pread(2). Its descriptor must stay open.
    [[nodiscard]] static base::Result<ArchiveReader> open(FilePart file, ArchiveFormat format,
                                                          std::string what, const ArchiveLimits& limits = {});
    /// All of it.
    [[nodiscard]] static base::Result<ArchiveReader> open(int fd, ArchiveFormat format, std::string what,
                                                          const ArchiveLimits& limits = {}) {
        return open(FilePart{fd}, format, std::move(what), limits);
    }
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
    /// Reads it to its end and says what it was.
    [[nodiscard]] base::Result<FileDigest> digest();
    /// Likewise, and hands on each block.
    [[nodiscard]] base::Result<FileDigest>
    consume(const std::function<base::Result<void>(std::string_view)>& take);

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
