// SPDX-License-Identifier: Apache-2.0
// A self-extracting archive that makeself made: a shell script, and behind it a tar, packed or not. Nothing of it is
// executed: the script is text, of which the assignments at its top say where the tar is and what its sums are.
//
// Two kinds are read. makeself's own since 2.4 (github.com/megastep/makeself): the tar begins after `skip` lines and has
// `filesizes` bytes, which the sums are of. And NVIDIA's variant of makeself 1.6, which its drivers come in: the tar begins
// at line `skip` and goes on to the end of the file (before it there may be a decompressor for hosts that have none), and
// the sums, in lines 2 and 3, are of all that follows them.
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::content {

/// The script, with what is in it, in NVIDIA's real ones: some 160 KiB.
inline constexpr std::size_t makeself_header_limit = std::size_t{4} << 20U;

struct MakeselfHeader {
    std::string label;        ///< "NVIDIA Accelerated Graphics Driver for Linux-x86_64 550.163.01"
    std::uint64_t offset = 0; ///< of the tar, in the file
    std::uint64_t size = 0;
    std::uint64_t summed = 0; ///< where what the sums are of begins; it ends with the tar
    std::string crc;          ///< of cksum(1), in decimal; empty here and below: the archive has none
    std::string md5;
    std::string sha256;
};

/// `start` is the file's beginning, as much as there is of it up to the limit. BadContent: not such a script, or one that
/// its file does not fit. Unsupported: encrypted, in several parts, or of a makeself that is too old.
[[nodiscard]] base::Result<MakeselfHeader>
parse_makeself_header(std::string_view start, std::uint64_t file_size, std::string_view what);

/// Reads the file's beginning and parses it.
[[nodiscard]] base::Result<MakeselfHeader> read_makeself_header(int fd, std::string_view what);

/// Hashes the file and compares what it has sums of; they say that it came whole, not from whom. MD5 where OpenSSL has it:
/// with a FIPS provider alone it does not, and the CRC, which is always compared, has to do. Unsupported: there is no other sum.
[[nodiscard]] base::Result<void> check_makeself_sums(int fd, const MakeselfHeader& header,
                                                     std::string_view what);

} // namespace gpuhost::content
