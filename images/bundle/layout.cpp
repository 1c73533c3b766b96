// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/layout.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <numeric>

namespace gpuhost::images {
namespace {

// Fields of a ustar header (POSIX.1-2001, "ustar Interchange Format"): offset and size in bytes.
struct Field {
    std::size_t at, size;
};
constexpr Field name_field{0, 100}, mode_field{100, 8}, uid_field{108, 8}, gid_field{116, 8},
    size_field{124, 12}, mtime_field{136, 12}, checksum_field{148, 8}, type_field{156, 1},
    magic_field{257, 8};
/// The smallest size in bytes that the eleven octal digits of a ustar header cannot express.
constexpr std::uint64_t octal_limit = std::uint64_t{8} << 30U;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
    return (value + to - 1) / to * to;
}

void put(std::string& block, Field field, std::string_view text) {
    block.replace(field.at, std::min(field.size, text.size()), text.substr(0, field.size));
}
void put_octal(std::string& block, Field field, std::uint64_t value) {
    char digits[24];
    const int n = std::snprintf(digits, sizeof digits, "%0*llo", static_cast<int>(field.size) - 1,
                                static_cast<unsigned long long>(value));
    put(block, field, std::string_view(digits, static_cast<std::size_t>(n)));
}

std::string header(std::string_view name, char type, std::uint64_t size) {
    std::string block(tar_block, '\0');
    put(block, name_field, name);
    put_octal(block, mode_field, 0444);
    put_octal(block, uid_field, 0);
    put_octal(block, gid_field, 0);
    // a larger size is in a pax record, see size_record()
    put_octal(block, size_field, size < octal_limit ? size : 0);
    put_octal(block, mtime_field, 0);
    put(block, type_field, std::string_view(&type, 1));
    put(block, magic_field, std::string_view("ustar\00000", 8));
    put(block, checksum_field, "        ");
    const auto sum =
        std::accumulate(block.begin(), block.end(), std::uint64_t{0},
                        [](std::uint64_t total, char c) { return total + static_cast<unsigned char>(c); });
    put_octal(block, {checksum_field.at, 7}, sum);
    block[checksum_field.at + 6] = '\0'; // a checksum is usually six digits, NUL, blank
    return block;
}

/// Returns a pax record of `length` bytes, "27 comment=…\n". The number at its start is `length`, at least
/// 12.
std::string comment(std::size_t length) {
    std::string record = std::to_string(length) + " comment=";
    record.append(length - record.size() - 1, ' ');
    return record + "\n";
}

std::string size_record(std::uint64_t size) {
    const std::string rest = " size=" + std::to_string(size) + "\n";
    std::size_t length = rest.size() + 2; // two digits: only sizes from 8 GiB on need a record
    return std::to_string(length) + rest;
}

/// Returns a pax header and `records`, padded by a comment to `bytes`, a multiple of the block size and at
/// least two blocks.
std::string pax(std::string records, std::uint64_t bytes) {
    const auto room = static_cast<std::size_t>(bytes - tar_block);
    if (records.size() < room)
        records += comment(room - records.size());
    return header("gpuhost-padding", 'x', room) + records;
}

} // namespace

std::string manifest_header(std::uint64_t size) {
    return header(manifest_place, '0', size);
}

std::optional<std::uint64_t> manifest_size(std::string_view block) {
    if (block.size() != tar_block)
        return std::nullopt;
    const std::string_view digits = block.substr(size_field.at, size_field.size - 1);
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 8);
    if (error != std::errc() || end != digits.data() + digits.size() || block != manifest_header(size))
        return std::nullopt;
    return size;
}

BundleLayout::BundleLayout(std::uint64_t manifest_bytes) : position_(tar_block), pending_(manifest_bytes) {}

std::string BundleLayout::before(const Member& member) {
    const std::uint64_t from = position_ + pending_;
    const std::uint64_t start = round_up(from, tar_block);
    const std::string records = member.size < octal_limit ? std::string() : size_record(member.size);
    // The gap before the content is one block (the member's header), or at least three: a pax header, its
    // records, and the member's header. A gap of two blocks fits neither, so it grows by data_alignment. A
    // gap of one block grows too if the member needs a size record.
    std::uint64_t data = round_up(start + tar_block, data_alignment);
    const std::uint64_t room = data - start - tar_block;
    if (room == tar_block || (room == 0 && !records.empty()))
        data += data_alignment;
    std::string bytes(static_cast<std::size_t>(start - from), '\0');
    if (data - start > tar_block)
        bytes += pax(records, data - start - tar_block);
    bytes += header(member.place(), '0', member.size);
    position_ = data;
    pending_ = member.size;
    return bytes;
}

std::string BundleLayout::end() {
    const std::uint64_t from = position_ + pending_;
    position_ = round_up(from, tar_block) + 2 * tar_block;
    pending_ = 0;
    return std::string(static_cast<std::size_t>(position_ - from), '\0');
}

} // namespace gpuhost::images
