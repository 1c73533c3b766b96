// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health/kmsg_record.hpp"

#include "daemon/base/parse.hpp"

#include <limits>
#include <vector>

namespace gpuhost::devices {

namespace {

constexpr std::size_t header_fields = 4;   ///< newer kernels add some, like "caller=T1"
constexpr unsigned facilities_begin = 8;   ///< priorities below are those of the kernel's own facility
constexpr std::size_t longest_text = 4096; ///< bytes; the driver's lines are shorter

char printable(unsigned char c) {
    return c >= ' ' && c < 0x7f ? static_cast<char>(c) : ' ';
}

/// Replaces escapes of the kernel, which writes bytes that are not printable ASCII, and "\", as "\xHH".
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = text[i] == '\\' && text.substr(i + 1, 1) == "x" && i + 3 < text.size()
                              ? base::parse_uint(text.substr(i + 2, 2), 16)
                              : std::nullopt;
        plain += printable(byte ? static_cast<unsigned char>(*byte) : static_cast<unsigned char>(text[i]));
        if (byte)
            i += 3;
    }
    return plain;
}

} // namespace

std::optional<KmsgRecord> parse_kmsg_record(std::string_view record) {
    const auto end = record.find(';');
    if (end == std::string_view::npos)
        return std::nullopt;
    const std::vector<std::string> header = base::split(record.substr(0, end), ',');
    if (header.size() < header_fields)
        return std::nullopt;
    const auto priority = base::parse_uint(header[0]);
    const auto sequence = base::parse_uint(header[1]);
    const auto time = base::parse_uint(header[2]);
    if (!priority || *priority >= facilities_begin || !sequence || !time ||
        *time > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
    std::string_view text = record.substr(end + 1);
    text = text.substr(0, text.find('\n')).substr(0, longest_text);
    return KmsgRecord{*sequence, static_cast<std::int64_t>(*time), unescaped(text)};
}

} // namespace gpuhost::devices
