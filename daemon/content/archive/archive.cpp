// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/archive.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"

#include <algorithm>
#include <cerrno>
#include <unordered_set>
#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

using ArchivePtr = base::CHandle<archive, archive_read_free>;
constexpr std::size_t block_size = std::size_t{128} << 10U;

/// Returns whether libarchive has the filter built in. It answers ARCHIVE_WARN if it would run an external
/// program for the filter; such input is refused.
template <int (*Filter)(archive*)>
bool is_built_in() {
    const ArchivePtr probe(archive_read_new());
    return probe && Filter(probe.get()) == ARCHIVE_OK;
}

template <int (*Filter)(archive*)>
bool support_if_built_in(archive* handle) {
    return !is_built_in<Filter>() || Filter(handle) == ARCHIVE_OK;
}

bool support_filters(archive* handle) {
    return archive_read_support_filter_gzip(handle) == ARCHIVE_OK &&
           archive_read_support_filter_xz(handle) == ARCHIVE_OK &&
           archive_read_support_filter_zstd(handle) == ARCHIVE_OK &&
           support_if_built_in<archive_read_support_filter_bzip2>(handle) &&
           support_if_built_in<archive_read_support_filter_lzma>(handle) &&
           support_if_built_in<archive_read_support_filter_lz4>(handle);
}

int support(archive* handle, ArchiveFormat format) {
    switch (format) {
    case ArchiveFormat::Ar:
        return archive_read_support_format_ar(handle);
    case ArchiveFormat::Tar:
        return support_filters(handle) ? archive_read_support_format_tar(handle) : ARCHIVE_FATAL;
    case ArchiveFormat::Cpio:
        return support_filters(handle) ? archive_read_support_format_cpio(handle) : ARCHIVE_FATAL;
    case ArchiveFormat::Raw:
        return support_filters(handle) ? archive_read_support_format_raw(handle) : ARCHIVE_FATAL;
    }
    return ARCHIVE_FATAL;
}

std::string member_name(archive_entry* entry) {
    if (const char* name = archive_entry_pathname(entry))
        return name;
    const char* name = archive_entry_pathname_utf8(entry); // not printable in this locale
    return name != nullptr ? name : "";
}

std::optional<ArchiveEntry::Type> member_type(archive_entry* entry, ArchiveFormat format) {
    if (archive_entry_hardlink(entry) != nullptr)
        return ArchiveEntry::Type::HardLink;
    switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
        return ArchiveEntry::Type::File;
    case AE_IFDIR:
        return ArchiveEntry::Type::Directory;
    case AE_IFLNK:
        return ArchiveEntry::Type::SymbolicLink;
    case 0: // ar members by other tools have no type
        return format == ArchiveFormat::Ar ? std::optional(ArchiveEntry::Type::File) : std::nullopt;
    default:
        return std::nullopt;
    }
}

} // namespace

struct ArchiveReader::State {
    ArchivePtr handle;
    Source source;
    ArchiveFormat format = ArchiveFormat::Tar;
    std::string what;
    ArchiveLimits limits;
    std::optional<base::Error> source_error;
    std::string member; ///< the current member, for errors
    std::unordered_set<std::string> seen;
    std::uint64_t entries = 0;
    std::uint64_t total = 0;
    std::uint64_t entry_size = 0; ///< declared size of the current member
    std::uint64_t entry_read = 0;
    std::uint64_t consumed = 0; ///< bytes of input read
    bool size_declared = false;
    std::vector<char> block = std::vector<char>(block_size);

    [[nodiscard]] std::string where() const { return member.empty() ? what : what + ": '" + member + "'"; }

    [[nodiscard]] tl::unexpected<base::Error> bad(std::string_view reason) const {
        return base::fail(Errc::BadContent, where() + ": " + std::string(reason),
                          "Fetch the file again: it is damaged or not what its name says.");
    }
    [[nodiscard]] tl::unexpected<base::Error> library_error() {
        if (source_error)
            return base::fail(*source_error);
        if (archive_errno(handle.get()) == ENOMEM)
            return base::fail(Errc::Failed, where() + ": out of memory");
        const char* text = archive_error_string(handle.get());
        return bad(text != nullptr ? text : "unreadable");
    }
    /// Returns the number of bytes unpacked so far. Bytes of the current member that are still to be read do
    /// not count.
    [[nodiscard]] std::uint64_t unpacked() const {
        return total - (size_declared ? entry_size - std::min(entry_size, entry_read) : 0);
    }
    [[nodiscard]] bool is_bomb() const {
        return limits.ratio != 0 && unpacked() > limits.unrated_bytes &&
               (unpacked() - limits.unrated_bytes) / limits.ratio > consumed;
    }
    /// libarchive's read callback.
    static la_ssize_t pull(archive* handle, void* data, const void** buffer) noexcept;
    [[nodiscard]] Result<ArchiveEntry> check(archive_entry* raw);
};

la_ssize_t ArchiveReader::State::pull(archive* handle, void* data, const void** buffer) noexcept {
    auto& state = *static_cast<State*>(data);
    try {
        auto bytes = state.source();
        if (!bytes) {
            state.source_error = std::move(bytes).error();
            archive_set_error(handle, EIO, "input error");
            return -1;
        }
        *buffer = bytes->data();
        state.consumed += bytes->size();
        return static_cast<la_ssize_t>(bytes->size());
    } catch (...) {
        archive_set_error(handle, ENOMEM, "out of memory");
        return -1;
    }
}

ArchiveReader::ArchiveReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;
ArchiveReader::~ArchiveReader() = default;

Result<ArchiveReader> ArchiveReader::open_source(Source source, ArchiveFormat format, std::string what,
                                                 const ArchiveLimits& limits) {
    auto state = std::make_unique<State>();
    state->handle.reset(archive_read_new());
    state->source = std::move(source);
    state->format = format;
    state->what = std::move(what);
    state->limits = limits;
    archive* handle = state->handle.get();
    if (handle == nullptr || support(handle, format) != ARCHIVE_OK)
        return base::fail(Errc::Failed,
                          state->what + ": libarchive does not support a required format or filter");
    if (archive_read_open(handle, state.get(), nullptr, &State::pull, nullptr) != ARCHIVE_OK)
        return state->library_error();
    return ArchiveReader(std::move(state));
}

Result<ArchiveReader> ArchiveReader::open(FilePart file, ArchiveFormat format, std::string what,
                                          const ArchiveLimits& limits) {
    struct stat st {};
    if (::fstat(file.fd, &st) < 0)
        return base::fail_errno(what, errno);
    if (!S_ISREG(st.st_mode))
        return base::fail(Errc::InvalidArgument, what + ": not a regular file");
    auto read = [file, name = what,
                 buffer = std::vector<char>(block_size)]() mutable -> Result<std::string_view> {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size));
        ssize_t n = 0;
        do
            n = ::pread(file.fd, buffer.data(), most, static_cast<off_t>(file.offset));
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return base::fail_errno(name, errno);
        file.offset += static_cast<std::uint64_t>(n);
        file.size -= static_cast<std::uint64_t>(n);
        return std::string_view(buffer.data(), static_cast<std::size_t>(n));
    };
    return open_source(std::move(read), format, std::move(what), limits);
}

Result<ArchiveReader> ArchiveReader::open(std::string_view memory, ArchiveFormat format, std::string what,
                                          const ArchiveLimits& limits) {
    auto read = [memory]() mutable -> Result<std::string_view> { return std::exchange(memory, {}); };
    return open_source(std::move(read), format, std::move(what), limits);
}

Result<ArchiveReader> ArchiveReader::open(ArchiveReader& outer, ArchiveFormat format, std::string what,
                                          const ArchiveLimits& limits) {
    auto read = [&state = *outer.state_]() -> Result<std::string_view> {
        return ArchiveReader::read_block(state);
    };
    return open_source(std::move(read), format, std::move(what), limits);
}

Result<ArchiveEntry> ArchiveReader::State::check(archive_entry* raw) {
    ArchiveEntry entry;
    const std::string name = member_name(raw);
    member.clear();
    auto path = safe_relative_path(name);
    if (!path || name.empty())
        return bad("a member's name points outside the archive or can't be printed");
    if (path->size() > limits.path_bytes)
        return bad("a member's name is longer than " + std::to_string(limits.path_bytes) + " bytes");
    member = entry.path = std::move(*path);
    if (archive_entry_sparse_count(raw) > 0) // not needed, and readers of sparse files had overruns
        return base::fail(Errc::Unsupported, where() + ": is a sparse file",
                          "Write the archive again without --sparse.");
    const auto type = member_type(raw, format);
    if (!type)
        return bad("is a device, socket or pipe");
    entry.type = *type;
    entry.mode = archive_entry_perm(raw) & 0777U;
    if (entry.type != ArchiveEntry::Type::Directory && !seen.insert(entry.path).second)
        return bad("occurs twice");
    if (entry.type == ArchiveEntry::Type::SymbolicLink) {
        const char* target = archive_entry_symlink(raw);
        entry.target = target != nullptr ? target : "";
    }
    if (entry.type == ArchiveEntry::Type::HardLink) {
        auto target = safe_relative_path(archive_entry_hardlink(raw));
        if (!target)
            return bad("is a link that points outside the archive");
        entry.target = std::move(*target);
    }
    size_declared = archive_entry_size_is_set(raw) != 0;
    const la_int64_t size = size_declared ? archive_entry_size(raw) : 0;
    if (size < 0 || static_cast<std::uint64_t>(size) > limits.entry_bytes)
        return bad("is larger than " + std::to_string(limits.entry_bytes >> 20U) + " MiB");
    entry.size = static_cast<std::uint64_t>(size);
    return entry;
}

Result<std::optional<ArchiveEntry>> ArchiveReader::next() {
    State& s = *state_;
    archive_entry* raw = nullptr;
    const int r = archive_read_next_header(s.handle.get(), &raw);
    if (s.source_error) // a filter may report a read error as the end of the archive
        return s.library_error();
    if (r == ARCHIVE_EOF)
        return std::nullopt;
    if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
        return s.library_error();
    s.entry_size = s.entry_read = 0; // the rest of the previous member was skipped
    GPUHOST_TRY(entry, s.check(raw));
    s.total += s.entry_size = entry.size;
    if (++s.entries > s.limits.entries)
        return s.bad("more than " + std::to_string(s.limits.entries) + " members");
    if (s.total > s.limits.total_bytes)
        return s.bad("unpacks to more than " + std::to_string(s.limits.total_bytes >> 20U) + " MiB");
    if (s.is_bomb())
        return s.bad("unpacks to much more than its own size");
    return std::optional<ArchiveEntry>(std::move(entry));
}

Result<std::string_view> ArchiveReader::read_block(State& s) {
    const la_ssize_t n = archive_read_data(s.handle.get(), s.block.data(), s.block.size());
    if (n < 0)
        return s.library_error();
    s.entry_read += static_cast<std::uint64_t>(n);
    if (!s.size_declared)
        s.total += static_cast<std::uint64_t>(n);
    if (s.entry_read > s.limits.entry_bytes || s.total > s.limits.total_bytes)
        return s.bad("unpacks to more than the limit");
    if (s.is_bomb())
        return s.bad("unpacks to much more than its own size");
    return std::string_view(s.block.data(), static_cast<std::size_t>(n));
}

Result<std::string> ArchiveReader::read_all(std::size_t limit) {
    std::string content;
    for (;;) {
        GPUHOST_TRY(block, read_block(*state_));
        if (block.empty())
            return content;
        if (content.size() + block.size() > limit)
            return state_->bad("is larger than " + std::to_string(limit) + " bytes");
        content += block;
    }
}

Result<FileDigest> ArchiveReader::consume(const std::function<Result<void>(std::string_view)>& take) {
    Sha256 hash;
    std::uint64_t size = 0;
    for (;;) {
        GPUHOST_TRY(block, read_block(*state_));
        if (block.empty())
            return FileDigest{hash.finish(), size};
        GPUHOST_CHECK(take(block));
        hash.update(block);
        size += block.size();
    }
}

Result<FileDigest> ArchiveReader::copy_to(int fd, const std::function<void(std::uint64_t)>& on_bytes) {
    return consume([&](std::string_view block) -> Result<void> {
        GPUHOST_CHECK(base::write_all(fd, block, state_->where()));
        if (on_bytes)
            on_bytes(block.size());
        return {};
    });
}

Result<FileDigest> ArchiveReader::digest() {
    return consume([](std::string_view) { return Result<void>(); });
}

std::optional<std::string> safe_relative_path(std::string_view path) {
    if (!path.empty() && path.front() == '/')
        return std::nullopt;
    std::string safe;
    while (!path.empty()) {
        const auto slash = path.find('/');
        const std::string_view part = path.substr(0, slash);
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
        if (part.empty() || part == ".")
            continue;
        if (part == "..")
            return std::nullopt;
        for (const char c : part)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                return std::nullopt;
        if (!safe.empty())
            safe += '/';
        safe += part;
    }
    return safe;
}

} // namespace gpuhost::content
