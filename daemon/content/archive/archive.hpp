// SPDX-License-Identifier: Apache-2.0
// Reads archives of unknown origin, one member after the other. The caller gets a member only after its name
// and all limits are checked. Nothing is executed (no external filter program) and nothing is written.
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
    Ar,   ///< the outer format of .deb files
    Tar,  ///< uncompressed, or with gzip, xz or zstd; bzip2, lzma and lz4 if libarchive has them built in
    Cpio, ///< the inner format of .rpm files; compressed like Tar
    Raw,  ///< one compressed file, read as one member
};

struct ArchiveLimits {
    std::uint64_t entries = 50'000;
    std::uint64_t entry_bytes = std::uint64_t{2} << 30U; ///< unpacked bytes of one member
    /// Unpacked bytes of all members, including skipped ones.
    std::uint64_t total_bytes = std::uint64_t{8} << 30U;
    std::size_t path_bytes = 1024;
    /// Protects against decompression bombs: most unpacked bytes for each byte of input, on average. The
    /// first `unrated_bytes` unpacked bytes do not count. 0: no limit.
    std::uint64_t ratio = 0;
    std::uint64_t unrated_bytes = std::uint64_t{256} << 20U;
};

/// The position of an archive in a regular file.
struct FilePart {
    int fd = -1; ///< not owned
    std::uint64_t offset = 0;
    /// If `size` is larger than the rest of the file, the part ends with the file.
    std::uint64_t size = std::numeric_limits<std::uint64_t>::max();
};

struct ArchiveEntry {
    enum class Type { File, Directory, SymbolicLink, HardLink };
    Type type = Type::File;
    std::string path;       ///< relative, without "." and ".."; empty for the archive's own root directory
    std::string target;     ///< of a symbolic link: as written; of a hard link: path of another member
    unsigned mode = 0;      ///< permission bits as written, set-id bits removed
    std::uint64_t size = 0; ///< as declared; 0 in Raw, which declares no size
};

/// Reads an archive member by member. Every error names the archive (`what`) and the member. Fails with
/// BadContent for absolute paths, paths with "..", control characters in names, duplicate members, devices,
/// sockets and pipes, and anything over a limit. Fails with Unsupported for sparse files.
class ArchiveReader {
  public:
    /// Reads a part of a regular file with pread(2). The descriptor is not owned and must stay open.
    [[nodiscard]] static base::Result<ArchiveReader> open(FilePart file, ArchiveFormat format,
                                                          std::string what, const ArchiveLimits& limits = {});
    /// Reads the whole file.
    [[nodiscard]] static base::Result<ArchiveReader> open(int fd, ArchiveFormat format, std::string what,
                                                          const ArchiveLimits& limits = {}) {
        return open(FilePart{fd}, format, std::move(what), limits);
    }
    [[nodiscard]] static base::Result<ArchiveReader> open(std::string_view memory, ArchiveFormat format,
                                                          std::string what, const ArchiveLimits& limits = {});
    /// Reads the current member of `outer` as a stream. `outer` must outlive this reader, and must not
    /// advance to another member while this reader is in use.
    [[nodiscard]] static base::Result<ArchiveReader> open(ArchiveReader& outer, ArchiveFormat format,
                                                          std::string what, const ArchiveLimits& limits = {});

    ArchiveReader(ArchiveReader&&) noexcept;
    ArchiveReader& operator=(ArchiveReader&&) noexcept;
    ArchiveReader(const ArchiveReader&) = delete;
    ArchiveReader& operator=(const ArchiveReader&) = delete;
    ~ArchiveReader();

    /// Skips the rest of the current member and returns the next one. Returns nothing at the end.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next();

    /// Returns the content of the current member. Fails with BadContent if it exceeds `limit` bytes.
    [[nodiscard]] base::Result<std::string> read_all(std::size_t limit);
    /// Writes the content of the current member to `fd`. Returns the digest and size of what was written.
    /// Calls `on_bytes` with the size of each block, to show progress.
    [[nodiscard]] base::Result<FileDigest> copy_to(int fd,
                                                   const std::function<void(std::uint64_t)>& on_bytes = {});
    /// Reads the current member to its end and returns its digest and size.
    [[nodiscard]] base::Result<FileDigest> digest();
    /// Like digest(), and passes each block to `take`. Fails with the first error of `take`.
    [[nodiscard]] base::Result<FileDigest>
    consume(const std::function<base::Result<void>(std::string_view)>& take);

  private:
    struct State;
    /// Returns the next bytes of the archive; empty at its end.
    using Source = std::function<base::Result<std::string_view>()>;
    explicit ArchiveReader(std::unique_ptr<State> state);
    [[nodiscard]] static base::Result<ArchiveReader>
    open_source(Source source, ArchiveFormat format, std::string what, const ArchiveLimits& limits);
    [[nodiscard]] static base::Result<std::string_view> read_block(State& state);

    std::unique_ptr<State> state_;
};

/// Returns `path` without "./" and doubled slashes. Returns nullopt if it is absolute, or contains ".." or
/// control characters.
[[nodiscard]] std::optional<std::string> safe_relative_path(std::string_view path);

} // namespace gpuhost::content
