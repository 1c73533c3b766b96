// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/package/makeself.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t assignment_lines = 64; // real scripts have the assignments in their first 40 lines
constexpr std::size_t most_value_bytes = 1024;
constexpr std::array<std::string_view, 7> wanted{"CRCsum",    "MD5",  "SHA",        "label",
                                                 "filesizes", "skip", "decrypt_cmd"};

tl::unexpected<base::Error> bad(std::string_view what, const std::string& reason) {
    return base::fail(Errc::BadContent, std::string(what) + ": " + reason,
                      "Fetch the file again: it is damaged or not an NVIDIA installer.");
}

tl::unexpected<base::Error> unsupported(std::string_view what, const std::string& reason) {
    return base::fail(Errc::Unsupported, std::string(what) + ": " + reason,
                      "Pass the installer as NVIDIA publishes it.");
}

/// Returns the value of an assignment if a shell would read it literally: one word, or a text in double
/// quotes without expansions. Else nullopt.
std::optional<std::string> literal(std::string_view value) {
    const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    if (quoted)
        value = value.substr(1, value.size() - 2);
    const auto plain = [quoted](char c) {
        const bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                          std::string_view("._+-/").find(c) != std::string_view::npos;
        return word || (quoted && c >= ' ' && c < '\x7f' &&
                        std::string_view("\"$`\\").find(c) == std::string_view::npos);
    };
    if (value.size() > most_value_bytes || !std::all_of(value.begin(), value.end(), plain))
        return std::nullopt;
    return std::string(value);
}

using Assignments = std::map<std::string, std::string, std::less<>>;

Result<Assignments> assignments(std::string_view script, std::string_view what) {
    Assignments found;
    for (std::size_t line = 0; line < assignment_lines && !script.empty(); ++line) {
        const std::string_view text = script.substr(0, script.find('\n'));
        script.remove_prefix(std::min(script.size(), text.size() + 1));
        const auto equals = text.find('=');
        const std::string name(text.substr(0, equals));
        if (equals == std::string_view::npos || std::find(wanted.begin(), wanted.end(), name) == wanted.end())
            continue;
        auto value = literal(text.substr(equals + 1));
        if (!value || !found.emplace(name, std::move(*value)).second)
            return bad(what, "its header sets " + name + " twice or to an unreadable value");
    }
    return found;
}

/// Returns the offset of the line after `count` lines.
std::optional<std::uint64_t> after_lines(std::string_view start, std::uint64_t count) {
    std::size_t at = 0;
    for (; count != 0; --count) {
        const auto end = start.find('\n', at);
        if (end == std::string_view::npos)
            return std::nullopt;
        at = end + 1;
    }
    return at;
}

/// Returns the sum `name`. Fails with BadContent if it is longer than `most` or does not consist of `digits`.
/// Returns an empty text if the sum is missing or all zeros: makeself writes zeros for a sum that it did not
/// compute.
Result<std::string> sum_of(const Assignments& found, std::string_view name, std::string_view digits,
                           std::size_t most, std::string_view what) {
    const auto at = found.find(name);
    if (at == found.end() || at->second.find_first_not_of('0') == std::string::npos)
        return std::string();
    if (at->second.size() > most || at->second.find_first_not_of(digits) != std::string::npos)
        return bad(what, "its header has an invalid sum: " + std::string(name));
    return at->second;
}

std::string_view value_of(const Assignments& found, std::string_view name) {
    const auto at = found.find(name);
    return at == found.end() ? std::string_view() : std::string_view(at->second);
}

/// Sets the positions for NVIDIA's variant, in which the tar extends to the end of the file.
Result<void> place_nvidias(MakeselfHeader& header, std::string_view start, std::uint64_t skip,
                           std::uint64_t file_size, std::string_view what) {
    const auto offset = after_lines(start, skip - 1);
    const auto second = start.find("\nCRCsum=");
    const auto third = start.find("\nMD5=");
    if (second == std::string_view::npos || second != start.find('\n') ||
        third != start.find('\n', second + 1))
        return bad(what, "its header does not have its sums in lines 2 and 3, as NVIDIA's installers do");
    if (!offset || *offset >= file_size)
        return bad(what, "its header says that the archive begins after the file's end");
    header.summed = *after_lines(start, 3);
    if (*offset < header.summed)
        return bad(what, "its header says that the archive begins inside the header");
    header.offset = *offset;
    header.size = file_size - *offset;
    return {};
}

Result<void> place_own(MakeselfHeader& header, std::string_view start, std::uint64_t skip,
                       std::string_view filesizes, std::uint64_t file_size, std::string_view what) {
    if (filesizes.find(' ') != std::string_view::npos)
        return unsupported(what, "has its archive in several parts");
    const auto offset = after_lines(start, skip);
    const auto size = base::parse_uint(filesizes);
    if (!size || !offset || *offset > file_size || file_size - *offset != *size)
        return bad(what, "its header's sizes do not match the file");
    header.offset = header.summed = *offset;
    header.size = *size;
    return {};
}

} // namespace

Result<MakeselfHeader> parse_makeself_header(std::string_view start, std::uint64_t file_size,
                                             std::string_view what) {
    start = start.substr(0, makeself_header_limit);
    if (!base::starts_with(start, "#!/bin/sh\n") && !base::starts_with(start, "#! /bin/sh\n"))
        return bad(what, "does not begin like an installer");
    GPUHOST_TRY(found, assignments(start, what));
    if (!value_of(found, "decrypt_cmd").empty())
        return unsupported(what, "is encrypted");
    MakeselfHeader header;
    GPUHOST_TRY(crc, sum_of(found, "CRCsum", base::hex_digits.substr(0, 10), 10, what));
    GPUHOST_TRY(md5, sum_of(found, "MD5", base::hex_digits, 32, what));
    GPUHOST_TRY(sha256, sum_of(found, "SHA", base::hex_digits, 64, what));
    header.label = value_of(found, "label");
    header.crc = std::move(crc);
    header.md5 = std::move(md5);
    header.sha256 = std::move(sha256);
    if (found.count("skip") == 0)
        return unsupported(what, "its header does not say where its archive begins");
    const auto skip = base::parse_uint(value_of(found, "skip"));
    if (!skip || *skip == 0)
        return bad(what, "its header gives no valid line number for the start of its archive");
    const auto filesizes = found.find("filesizes");
    GPUHOST_CHECK(filesizes == found.end()
                      ? place_nvidias(header, start, *skip, file_size, what)
                      : place_own(header, start, *skip, filesizes->second, file_size, what));
    return header;
}

Result<MakeselfHeader> read_makeself_header(int fd, std::string_view what) {
    struct stat st {};
    if (::fstat(fd, &st) < 0)
        return base::fail_errno(what, errno);
    const auto file_size = static_cast<std::uint64_t>(st.st_size);
    GPUHOST_TRY(start, base::read_at(fd, 0, makeself_header_limit, what));
    return parse_makeself_header(start, file_size, what);
}

} // namespace gpuhost::content
