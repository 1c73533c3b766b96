// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/tar_writer.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"

#include <cerrno>
#include <optional>

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

using WriterPtr = base::CHandle<archive, archive_write_free>;
using EntryPtr = base::CHandle<archive_entry, archive_entry_free>;

bool add_packing(archive* handle, TarForm::Packing packing) {
    if (packing == TarForm::Packing::Zstd)
        return archive_write_add_filter_zstd(handle) == ARCHIVE_OK;
    return archive_write_add_filter_gzip(handle) == ARCHIVE_OK &&
           archive_write_set_filter_option(handle, "gzip", "timestamp", nullptr) == ARCHIVE_OK;
}

} // namespace

struct TarWriter::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    /// Prevents writes to `fd` while the handle of an unfinished writer is freed. archive_write_fail() is not
    /// used, because libarchive 3.6 does not free its block after a call of that function.
    ~State() { abandoned = true; }

    int fd = -1;
    bool abandoned = false;
    std::string what;
    TarForm form;
    Sha256 hash;
    std::uint64_t size = 0;
    std::optional<base::Error> error; ///< error of a write to `fd`
    WriterPtr handle;                 ///< calls push(): declared last, so that it is destroyed first

    [[nodiscard]] tl::unexpected<base::Error> failed() {
        if (error)
            return base::fail(*error);
        const char* text = archive_error_string(handle.get());
        return base::fail(Errc::Failed, what + ": " + (text != nullptr ? text : "can't be written"));
    }
    /// libarchive's write callback.
    static la_ssize_t push(archive* handle, void* data, const void* bytes, std::size_t size) noexcept;
    [[nodiscard]] Result<void> header(const std::string& path, mode_t type, mode_t mode, std::uint64_t bytes,
                                      const std::string& target);
};

la_ssize_t TarWriter::State::push(archive* handle, void* data, const void* bytes, std::size_t size) noexcept {
    auto& state = *static_cast<State*>(data);
    if (state.abandoned)
        return -1;
    try {
        const std::string_view block(static_cast<const char*>(bytes), size);
        if (auto written = base::write_all(state.fd, block, state.what); !written) {
            state.error = std::move(written).error();
            archive_set_error(handle, EIO, "output error");
            return -1;
        }
        state.hash.update(block);
        state.size += size;
        return static_cast<la_ssize_t>(size);
    } catch (...) {
        archive_set_error(handle, ENOMEM, "out of memory");
        return -1;
    }
}

Result<void> TarWriter::State::header(const std::string& path, mode_t type, mode_t mode, std::uint64_t bytes,
                                      const std::string& target) {
    const EntryPtr entry(archive_entry_new());
    if (!entry)
        return base::fail(Errc::Failed, what + ": out of memory");
    archive_entry_set_pathname(entry.get(), path.c_str());
    archive_entry_set_filetype(entry.get(), type);
    archive_entry_set_perm(entry.get(), mode);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
    archive_entry_set_mtime(entry.get(), static_cast<time_t>(form.time), 0);
    if (type == AE_IFLNK)
        archive_entry_set_symlink(entry.get(), target.c_str());
    return archive_write_header(handle.get(), entry.get()) == ARCHIVE_OK ? Result<void>() : failed();
}

TarWriter::TarWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarWriter::TarWriter(TarWriter&&) noexcept = default;
TarWriter& TarWriter::operator=(TarWriter&&) noexcept = default;
TarWriter::~TarWriter() = default;

Result<TarWriter> TarWriter::create(int fd, std::string what, const TarForm& form) {
    auto state = std::make_unique<State>();
    state->handle.reset(archive_write_new());
    state->fd = fd;
    state->what = std::move(what);
    state->form = form;
    archive* handle = state->handle.get();
    if (handle == nullptr || archive_write_set_format_pax_restricted(handle) != ARCHIVE_OK ||
        !add_packing(handle, form.packing) ||
        archive_write_set_bytes_in_last_block(handle, 1) != ARCHIVE_OK ||
        archive_write_open(handle, state.get(), nullptr, &State::push, nullptr) != ARCHIVE_OK)
        return base::fail(Errc::Failed, state->what + ": libarchive does not support tar, zstd or gzip");
    return TarWriter(std::move(state));
}

Result<void> TarWriter::begin(const std::string& path, bool executable, std::uint64_t size) {
    const mode_t mode = state_->form.mode;
    return state_->header(path, AE_IFREG, executable ? mode | (mode & 0444U) >> 2U : mode, size, {});
}

Result<void> TarWriter::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const la_ssize_t n = archive_write_data(state_->handle.get(), bytes.data(), bytes.size());
        if (n <= 0) // zero: the file has reached its size
            return state_->failed();
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

Result<void> TarWriter::add_link(const std::string& path, const std::string& target) {
    return state_->header(path, AE_IFLNK, 0777, 0, target);
}

Result<FileDigest> TarWriter::finish() {
    if (archive_write_close(state_->handle.get()) != ARCHIVE_OK)
        return state_->failed();
    return FileDigest{state_->hash.finish(), state_->size};
}

} // namespace gpuhost::content
