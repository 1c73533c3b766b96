// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/journal.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::core {

using base::Errc;
using base::Result;
using base::Root;

namespace {

constexpr std::size_t journal_limit = 64U << 20; // bytes
/// Space to reserve for a transaction's records; a swap writes some 30 kB.
constexpr off_t usual_bytes = off_t{128} << 10U;
constexpr std::string_view suffix = ".jsonl";
constexpr std::size_t checksum_digits = 8;

/// Returns the CRC-32 (ISO-HDLC), which detects incomplete and corrupt lines. It does not protect against an
/// attacker, who can compute it too.
std::uint32_t crc32(std::string_view text) {
    std::uint32_t crc = 0xffffffffU;
    for (const char c : text) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    }
    return ~crc;
}

std::string checksum(std::string_view text) {
    const std::uint32_t crc = htobe32(crc32(text));
    return base::to_hex({reinterpret_cast<const std::uint8_t*>(&crc), sizeof crc});
}

/// Decodes one line; nullopt if it has no valid checksum. Fails if the record itself is not valid.
Result<std::optional<Record>> decode_line(std::string_view line) {
    if (line.size() <= checksum_digits + 1 || line[checksum_digits] != ' ')
        return std::nullopt;
    const std::string_view body = line.substr(checksum_digits + 1);
    if (checksum(body) != line.substr(0, checksum_digits))
        return std::nullopt;
    GPUHOST_TRY(value, base::parse_json(body, "journal record"));
    GPUHOST_TRY(record, record_from_json(value));
    return std::move(record);
}

std::string path_of(std::uint64_t id) {
    return std::string(journal_directory) + "/" + std::to_string(id) + std::string(suffix);
}

constexpr std::string_view state_directory = "/var/lib/gpuhost";
constexpr const char* reserve_name = "reserve";
/// Size of the reserve. It is enough for a journal, and for the directory and the documents that an operation
/// writes in order to free space.
constexpr off_t reserve_bytes = off_t{1} << 20U;

std::string reserve_path() {
    return std::string(state_directory) + "/" + reserve_name;
}

bool is_full(const Result<void>& written) {
    return !written && written.error().code == Errc::NoSpace;
}

struct Decoded {
    std::vector<Record> records;
    std::size_t bytes = 0; ///< size of the complete records; an incomplete one may follow
};

Result<Decoded> decode(std::string_view text) {
    Decoded decoded;
    while (decoded.bytes < text.size()) {
        const std::string_view rest = text.substr(decoded.bytes);
        const auto end = rest.find('\n');
        std::optional<Record> record;
        if (end != std::string_view::npos) {
            GPUHOST_TRY(whole, decode_line(rest.substr(0, end)));
            record = std::move(whole);
        }
        if (!record && (end == std::string_view::npos || end + 1 == rest.size()))
            break; // a power cut interrupted the write, so the announced action never began
        if (!record)
            return base::fail(Errc::BadContent,
                              "journal: damaged record " + std::to_string(decoded.records.size()));
        decoded.records.push_back(std::move(*record));
        decoded.bytes += end + 1;
    }
    return decoded;
}

/// Returns true if the journal's last record is End. Newer formats encode End in the same way.
bool has_ended(std::string_view text) {
    if (!text.ends_with('\n'))
        return false;
    text.remove_suffix(1);
    const std::string_view last = text.substr(text.rfind('\n') + 1);
    const auto record =
        base::parse_json(last.substr(std::min(last.size(), checksum_digits + 1)), "journal record");
    return record && base::string_or(*record, "type", "") == "end";
}

} // namespace

std::string encode_record(const Record& record) {
    const std::string body = base::dump(to_json(record));
    return checksum(body) + " " + body + "\n";
}

Result<std::vector<Record>> decode_journal(std::string_view text) {
    auto whole = decode(text);
    if (!whole && whole.error().code == Errc::Unsupported && has_ended(text))
        return base::fail(Errc::BadContent, whole.error().message);
    if (!whole)
        return base::fail(whole.error());
    return std::move(whole->records);
}

void keep_journal_reserve(const Root& root) {
    const auto st = root.lstat(reserve_path());
    if (st && st->st_size == reserve_bytes)
        return;
    const auto fd = root.open_file(reserve_path(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd && ::posix_fallocate(fd->get(), 0, reserve_bytes) != 0)
        (void)root.remove(reserve_path()); // a partial reserve may have the size of a complete one
}

bool release_journal_reserve(const Root& root) {
    return root.exists(reserve_path()) && root.remove(reserve_path());
}

Result<Journal> Journal::create(const Root& root, std::uint64_t id, const Record& begin) {
    const std::string path = path_of(id);
    if (root.exists(path))
        return base::fail(Errc::AlreadyExists, path + ": already exists");
    keep_journal_reserve(root);
    auto journal = [&]() -> Result<Journal> {
        auto written = root.write_atomic(path, encode_record(begin), 0600);
        if (is_full(written) && release_journal_reserve(root))
            written = root.write_atomic(path, encode_record(begin), 0600);
        if (!written)
            return base::fail(written.error().with_hint("Make room in /var/lib/gpuhost."));
        return open(root, id);
    }();
    if (!journal)
        (void)root.remove(path); // else the daemon would run the refused operation at its next start
    return journal;
}

Result<Journal> Journal::open(const Root& root, std::uint64_t id) {
    const std::string path = path_of(id);
    GPUHOST_TRY(text, root.read(path, journal_limit));
    GPUHOST_TRY(directory, root.open_file(state_directory, O_RDONLY | O_DIRECTORY));
    GPUHOST_TRY(fd, root.open_file(path, O_WRONLY | O_APPEND));
    GPUHOST_TRY(decoded, decode(text));
    // The next record would become part of an incomplete last line.
    if (decoded.bytes != text.size() && ::ftruncate(fd.get(), static_cast<off_t>(decoded.bytes)) < 0)
        return base::fail_errno(path, errno);
    // Reserves space for the remaining records. Best effort: not all file systems support it.
    (void)::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(decoded.bytes) + usual_bytes);
    return Journal(std::move(directory), std::move(fd), id, static_cast<off_t>(decoded.bytes));
}

Result<void> Journal::append(const Record& record) {
    const std::string text = encode_record(record);
    auto written = write(text);
    if (is_full(written) && ::unlinkat(directory_.get(), reserve_name, 0) == 0)
        written = write(text);
    if (written)
        size_ += static_cast<off_t>(text.size());
    if (written && record.type == Record::Type::End)
        (void)!::ftruncate(fd_.get(), size_); // frees what open() reserved
    return written;
}

Result<void> Journal::write(const std::string& text) {
    const std::string path = path_of(id_);
    // A partial record would damage the journal. It is removed when the write fails. It is removed again
    // before the next write, in case the first removal failed. A file of the right size is not truncated:
    // this would free the space that open() reserved.
    struct stat st {};
    if (::fstat(fd_.get(), &st) < 0 || (st.st_size != size_ && ::ftruncate(fd_.get(), size_) < 0))
        return base::fail_errno(path, errno);
    auto written = base::write_all(fd_.get(), text, path);
    if (written && ::fdatasync(fd_.get()) < 0)
        written = base::fail_errno(path, errno);
    if (!written)
        (void)!::ftruncate(fd_.get(), size_);
    return written;
}

Result<std::vector<Record>> read_journal(const Root& root, std::uint64_t id) {
    GPUHOST_TRY(text, root.read(path_of(id), journal_limit));
    return decode_journal(text);
}

Result<std::vector<std::uint64_t>> list_journals(const Root& root) {
    auto names = root.list(journal_directory);
    if (!names && names.error().code == Errc::NotFound)
        return std::vector<std::uint64_t>{};
    if (!names)
        return base::fail(names.error());
    std::vector<std::uint64_t> ids;
    for (const std::string_view name : *names)
        if (name.ends_with(suffix))
            if (const auto id = base::parse_uint(name.substr(0, name.size() - suffix.size())))
                ids.push_back(*id);
    std::sort(ids.begin(), ids.end());
    return ids;
}

Result<void> remove_journal(const Root& root, std::uint64_t id) {
    return root.remove(path_of(id));
}

} // namespace gpuhost::core
