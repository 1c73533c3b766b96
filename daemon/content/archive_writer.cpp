// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive_writer.hpp"

#include "daemon/base/handle.hpp"

#include <archive.h>
#include <archive_entry.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

using WriterPtr = base::CHandle<archive, archive_write_free>;
using EntryPtr = base::CHandle<archive_entry, archive_entry_free>;

tl::unexpected<base::Error> failed(archive* writer) {
    const char* why = archive_error_string(writer);
    return base::fail(Errc::Failed, std::string("packing: ") + (why == nullptr ? "no memory" : why));
}

la_ssize_t on_bytes(archive* writer, void* packed, const void* bytes, size_t size) {
    try {
        static_cast<std::string*>(packed)->append(static_cast<const char*>(bytes), size);
        return static_cast<la_ssize_t>(size);
    } catch (...) {
        archive_set_error(writer, ENOMEM, "no memory");
        return -1;
    }
}

Result<void> add(archive* writer, const TextMember& member, std::uint64_t time) {
    const EntryPtr entry(archive_entry_new());
    if (!entry)
        return failed(writer);
    archive_entry_set_pathname(entry.get(), member.path.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0600);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(member.text.size()));
    archive_entry_set_mtime(entry.get(), static_cast<time_t>(time), 0);
    if (archive_write_header(writer, entry.get()) != ARCHIVE_OK ||
        archive_write_data(writer, member.text.data(), member.text.size()) !=
            static_cast<la_ssize_t>(member.text.size()))
        return failed(writer);
    return {};
}

} // namespace

Result<std::string> pack_texts(const std::vector<TextMember>& members, std::uint64_t time) {
    std::string packed;
    const WriterPtr writer(archive_write_new());
    if (!writer || archive_write_set_format_pax_restricted(writer.get()) != ARCHIVE_OK ||
        archive_write_add_filter_gzip(writer.get()) != ARCHIVE_OK ||
        archive_write_set_filter_option(writer.get(), "gzip", "timestamp", nullptr) != ARCHIVE_OK ||
        archive_write_open(writer.get(), &packed, nullptr, on_bytes, nullptr) != ARCHIVE_OK)
        return failed(writer.get());
    for (const TextMember& member : members)
        GPUHOST_CHECK(add(writer.get(), member, time));
    if (archive_write_close(writer.get()) != ARCHIVE_OK)
        return failed(writer.get());
    return packed;
}

} // namespace gpuhost::content
