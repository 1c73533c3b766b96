// SPDX-License-Identifier: Apache-2.0
#include "tests/support/archives.hpp"

#include "daemon/base/handle.hpp"

#include <cstdio>
#include <cstdlib>

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

namespace gpuhost::tests {

namespace {

using Writer = base::CHandle<archive, archive_write_free>;
using Entry = base::CHandle<archive_entry, archive_entry_free>;

void require(int result, archive* handle) {
    if (result == ARCHIVE_OK)
        return;
    std::fprintf(stderr, "writing a test archive: %s\n", archive_error_string(handle));
    std::abort();
}

void add_filter(archive* handle, Packing packing) {
    if (packing == Packing::Gzip)
        require(archive_write_add_filter_gzip(handle), handle);
    if (packing == Packing::Xz)
        require(archive_write_add_filter_xz(handle), handle);
    if (packing == Packing::Zstd)
        require(archive_write_add_filter_zstd(handle), handle);
    if (packing == Packing::Bzip2)
        require(archive_write_add_filter_bzip2(handle), handle);
    if (packing == Packing::Lz4)
        require(archive_write_add_filter_lz4(handle), handle);
    if (packing == Packing::Lzma)
        require(archive_write_add_filter_lzma(handle), handle);
}

la_ssize_t append(archive*, void* data, const void* bytes, size_t size) {
    static_cast<std::string*>(data)->append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
}

mode_t file_type(Member::Type type) {
    switch (type) {
    case Member::Type::Directory:
        return AE_IFDIR;
    case Member::Type::Link:
        return AE_IFLNK;
    case Member::Type::Device:
        return AE_IFCHR;
    case Member::Type::Pipe:
        return AE_IFIFO;
    default:
        return AE_IFREG;
    }
}

void write_member(archive* handle, const Member& member) {
    const Entry entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), member.path.c_str());
    archive_entry_set_filetype(entry.get(), file_type(member.type));
    archive_entry_set_perm(entry.get(), member.mode);
    archive_entry_set_mtime(entry.get(), 1, 0);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(member.content.size()));
    if (member.type == Member::Type::Link)
        archive_entry_set_symlink(entry.get(), member.target.c_str());
    if (member.type == Member::Type::HardLink)
        archive_entry_set_hardlink(entry.get(), member.target.c_str());
    if (member.type == Member::Type::Device) {
        archive_entry_set_rdevmajor(entry.get(), 1);
        archive_entry_set_rdevminor(entry.get(), 3);
    }
    require(archive_write_header(handle, entry.get()), handle);
    if (!member.content.empty())
        (void)archive_write_data(handle, member.content.data(), member.content.size());
}

template <class Format>
std::string write(const std::vector<Member>& members, Packing packing, Format format) {
    std::string out;
    const Writer handle(archive_write_new());
    require(format(handle.get()), handle.get());
    add_filter(handle.get(), packing);
    require(archive_write_set_bytes_in_last_block(handle.get(), 1), handle.get()); // no padding after the end
    require(archive_write_open(handle.get(), &out, nullptr, append, nullptr), handle.get());
    for (const Member& member : members)
        write_member(handle.get(), member);
    require(archive_write_close(handle.get()), handle.get());
    return out;
}

} // namespace

std::string tar_of(const std::vector<Member>& members, Packing packing) {
    return write(members, packing, archive_write_set_format_pax_restricted);
}

std::string ar_of(const std::vector<Member>& members) {
    return write(members, Packing::None, archive_write_set_format_ar_svr4);
}

std::string cpio_of(const std::vector<Member>& members, Packing packing) {
    return write(members, packing, archive_write_set_format_cpio_newc);
}

std::string packed(const std::string& content, Packing packing) {
    return write({{"data", content}}, packing, archive_write_set_format_raw);
}

std::string deb_of(const std::string& package, const std::string& version, const std::vector<Member>& files,
                   Packing packing) {
    const std::string control =
        "Package: " + package + "\nVersion: " + version +
        "\nArchitecture: all\nInstalled-Size: 100\nDescription: a test\n more of it\n";
    const char* suffix = packing == Packing::None   ? ""
                         : packing == Packing::Gzip ? ".gz"
                         : packing == Packing::Xz   ? ".xz"
                                                    : ".zst";
    return ar_of({{"debian-binary", "2.0\n"},
                  {std::string("control.tar") + suffix, tar_of({{"./control", control}}, packing)},
                  {std::string("data.tar") + suffix, tar_of(files, packing)}});
}

namespace {

std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (unsigned shift = 32; shift != 0; shift -= 8)
        bytes += static_cast<char>(value >> (shift - 8) & 0xffU);
    return bytes;
}

struct Tag {
    std::uint32_t tag;
    std::uint32_t type;
    std::string value;
};

std::string rpm_header(const std::vector<Tag>& tags) {
    std::string index;
    std::string store;
    for (const Tag& tag : tags) {
        index += big_endian(tag.tag) + big_endian(tag.type) +
                 big_endian(static_cast<std::uint32_t>(store.size())) + big_endian(1);
        store += tag.value;
    }
    return "\x8e\xad\xe8\x01" + std::string(4, '\0') + big_endian(static_cast<std::uint32_t>(tags.size())) +
           big_endian(static_cast<std::uint32_t>(store.size())) + index + store;
}

} // namespace

std::string rpm_of(const std::string& package, const std::string& version, const std::string& architecture,
                   const std::vector<Member>& files, Packing packing) {
    constexpr std::uint32_t number = 4;
    constexpr std::uint32_t text = 6;
    const auto word = [](const std::string& value) { return value + std::string(1, '\0'); };
    std::string image = "\xed\xab\xee\xdb" + std::string(92, '\0') + rpm_header({{1000, text, word("x")}});
    image.resize((image.size() + 7) / 8 * 8, '\0');
    return image +
           rpm_header({{1009, number, big_endian(1U << 20U)}, // first, so that the number is aligned
                       {1000, text, word(package)},
                       {1001, text, word(version)},
                       {1002, text, word("1.el9")},
                       {1022, text, word(architecture)}}) +
           cpio_of(files, packing);
}

std::string run_of(const std::string& version, const std::vector<std::string>& manifest,
                   const std::vector<Member>& members, Packing packing) {
#if defined(__aarch64__)
    const std::string platform = "Linux-aarch64";
#else
    const std::string platform = "Linux-x86_64";
#endif
    const std::string label = "NVIDIA Accelerated Graphics Driver for " + platform + " " + version;
    std::string listed = label + "\n" + version + "\nnvidia.ko\nnvidia\n5\n6\n7\n8\n";
    for (const std::string& line : manifest)
        listed += line + "\n";
    std::vector<Member> all = members;
    all.push_back({"./.manifest", listed});
    return "#! /bin/sh\nCRCsum=0000000000\nMD5=00000000000000000000000000000000\nskip=6\nlabel=\"" + label +
           "\"\n" + tar_of(all, packing);
}

std::string summed(std::string header) {
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header)
        sum += static_cast<unsigned char>(c);
    std::snprintf(header.data() + 148, 8, "%06o", sum);
    return header;
}

std::string raw_member(const std::string& header, const std::string& content) {
    return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

std::string pax_records(const std::vector<std::string>& records) {
    std::string all;
    for (const std::string& record : records) {
        std::size_t size = record.size() + 3; // plus a digit, a space and a newline
        while (std::to_string(size).size() + record.size() + 2 != size)
            ++size;
        all += std::to_string(size) + " " + record + "\n";
    }
    return raw_member(tar_header("pax", all.size(), 'x'), all);
}

std::string tar_header(const std::string& path, std::uint64_t size, char type) {
    std::string header(512, '\0');
    std::snprintf(header.data(), 100, "%s", path.c_str());
    std::snprintf(header.data() + 100, 8, "%07o", 0644U);
    std::snprintf(header.data() + 108, 8, "%07o", 0U);
    std::snprintf(header.data() + 116, 8, "%07o", 0U);
    std::snprintf(header.data() + 124, 12, "%011llo", static_cast<unsigned long long>(size));
    std::snprintf(header.data() + 136, 12, "%011o", 0U);
    header[156] = type;
    header.replace(257, 8, std::string("ustar\00000", 8));
    return summed(std::move(header));
}

} // namespace gpuhost::tests
