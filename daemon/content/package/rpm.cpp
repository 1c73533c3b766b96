// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/package/rpm.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"

#include <algorithm>
#include <optional>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

// A package begins with the lead, a header of signatures and the main header: see rpm's "file format".
constexpr std::size_t lead_bytes = 96;
constexpr std::size_t preamble_bytes = 16;
constexpr std::size_t entry_bytes = 16;
constexpr std::size_t most_entries = 65'536;
/// The limit of each of the two headers; real ones have about 100 KiB.
constexpr std::size_t most_header_bytes = std::size_t{16} << 20U;
constexpr std::string_view lead_magic = "\xed\xab\xee\xdb";
constexpr std::string_view header_magic = "\x8e\xad\xe8\x01";

enum Tag : std::uint32_t { Name = 1000, Version = 1001, Release = 1002, Size = 1009, Architecture = 1022 };
constexpr std::uint32_t int32_type = 4;
constexpr std::uint32_t string_type = 6;

tl::unexpected<base::Error> not_a_package(std::string_view what, const std::string& reason) {
    return base::fail(Errc::BadContent, std::string(what) + ": not an RPM package: " + reason,
                      "Pass unmodified .rpm files from the repository.");
}

std::uint32_t number_at(std::string_view text, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
        value = value << 8U | static_cast<unsigned char>(text[at + i]);
    return value;
}

struct Header {
    std::string_view index;
    std::string_view store;
    std::size_t end = 0; ///< offset of the header's end in the package

    [[nodiscard]] std::string text(std::uint32_t tag) const {
        for (std::size_t at = 0; at < index.size(); at += entry_bytes) {
            if (number_at(index, at) != tag || number_at(index, at + 4) != string_type)
                continue;
            const std::size_t offset = number_at(index, at + 8);
            const auto nul = offset < store.size() ? store.find('\0', offset) : std::string_view::npos;
            return nul == std::string_view::npos ? std::string()
                                                 : std::string(store.substr(offset, nul - offset));
        }
        return {};
    }
    /// Returns the number of a tag; 0 if the tag is missing. Sizes above 4 GiB have another tag and return 0:
    /// no package here is that large.
    [[nodiscard]] std::uint64_t number(std::uint32_t tag) const {
        for (std::size_t at = 0; at < index.size(); at += entry_bytes)
            if (number_at(index, at) == tag && number_at(index, at + 4) == int32_type) {
                const std::size_t offset = number_at(index, at + 8);
                return offset + 4 <= store.size() ? number_at(store, offset) : 0;
            }
        return 0;
    }
};

Result<Header> header_at(std::string_view image, std::size_t at, std::string_view what) {
    if (image.size() < at + preamble_bytes || image.substr(at, 4) != header_magic)
        return not_a_package(what, "a header is missing");
    const std::size_t entries = number_at(image, at + 8);
    const std::size_t bytes = number_at(image, at + 12);
    const std::size_t index = at + preamble_bytes;
    if (entries > most_entries || bytes > most_header_bytes)
        return not_a_package(what, "a header is too large");
    if (image.size() - index < entries * entry_bytes + bytes)
        return not_a_package(what, "it is truncated");
    const std::size_t store = index + entries * entry_bytes;
    return Header{image.substr(index, entries * entry_bytes), image.substr(store, bytes), store + bytes};
}

/// Returns whether the text is safe to print, to compare and to use in a path.
bool is_word(const std::string& text) {
    return !text.empty() && text.size() <= 128 && text.front() != '.' &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '/'; });
}

} // namespace

Result<RpmHeader> parse_rpm_header(std::string_view image, std::string_view what) {
    if (image.size() < lead_bytes || !base::starts_with(image, lead_magic))
        return not_a_package(what, "it does not begin like one");
    GPUHOST_TRY(signatures, header_at(image, lead_bytes, what));
    const std::size_t aligned = (signatures.end + 7) / 8 * 8;
    GPUHOST_TRY(header, header_at(image, aligned, what));
    RpmHeader found{header.text(Name),         header.text(Version), header.text(Release),
                    header.text(Architecture), header.end,           header.number(Size)};
    if (!is_word(found.package) || !is_word(found.version) || !is_word(found.release) ||
        !is_word(found.architecture))
        return not_a_package(what, "its header names no package, version and architecture");
    return found;
}

Result<Rpm> Rpm::open(int fd, const std::string& what) {
    GPUHOST_TRY(image, base::read_at(fd, 0, 2 * most_header_bytes, what));
    GPUHOST_TRY(header, parse_rpm_header(image, what));
    GPUHOST_TRY(data, ArchiveReader::open(FilePart{fd, header.payload}, ArchiveFormat::Cpio, what));
    return Rpm(std::move(header), std::move(data));
}

std::string_view rpm_architecture() noexcept {
#if defined(__aarch64__)
    return "aarch64";
#else
    return "x86_64";
#endif
}

} // namespace gpuhost::content
