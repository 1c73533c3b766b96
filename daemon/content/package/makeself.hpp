// SPDX-License-Identifier: Apache-2.0
// Reads a self-extracting archive made by makeself: a shell script followed by a tar, which may be
// compressed. Nothing in it is executed. The script is read as text: assignments at its top give the position
// of the tar and its sums.
//
// Two formats are supported. In makeself's own format since 2.4 (github.com/megastep/makeself), the tar
// begins after `skip` lines and has `filesizes` bytes. The sums cover these bytes. NVIDIA's drivers have a
// variant of makeself 1.6: the tar begins at line `skip` and extends to the end of the file. A decompressor
// for hosts without one may precede the tar. The sums, in lines 2 and 3, cover everything after line 3.
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::content {

/// Limit in bytes of the script and the data embedded in it. In NVIDIA's files these have about 160 KiB.
inline constexpr std::size_t makeself_header_limit = std::size_t{4} << 20U;

struct MakeselfHeader {
    std::string label;        ///< "NVIDIA Accelerated Graphics Driver for Linux-x86_64 550.163.01"
    std::uint64_t offset = 0; ///< offset of the tar in the file
    std::uint64_t size = 0;   ///< size of the tar
    /// Offset of the first byte that the sums cover. The last covered byte is the last byte of the tar.
    std::uint64_t summed = 0;
    /// CRC of cksum(1), in decimal. This sum and the following ones are empty if the archive does not have
    /// them.
    std::string crc;
    std::string md5;
    std::string sha256;
};

/// Parses the script. `start` is the beginning of the file, up to makeself_header_limit. Fails with
/// BadContent if it is not such a script, or if it does not match the size of the file. Fails with
/// Unsupported if the archive is encrypted, has several parts, or was made by a makeself that is too old.
[[nodiscard]] base::Result<MakeselfHeader>
parse_makeself_header(std::string_view start, std::uint64_t file_size, std::string_view what);

/// Reads the beginning of the file and parses it with parse_makeself_header().
[[nodiscard]] base::Result<MakeselfHeader> read_makeself_header(int fd, std::string_view what);

/// Compares the file with the sums in its header. The sums show that the file is complete, not who made it.
/// Fails with BadContent if a sum differs. If OpenSSL has only a FIPS provider, it does not offer MD5. An MD5
/// is then not compared, and if it is the only sum, the check fails with Unsupported.
[[nodiscard]] base::Result<void> check_makeself_sums(int fd, const MakeselfHeader& header,
                                                     std::string_view what);

} // namespace gpuhost::content
