// SPDX-License-Identifier: Apache-2.0
// Reads a self-extracting archive made by makeself: a shell script followed by a tar, compressed or not.
// Nothing in it is executed. The script is read as text; the assignments at its top give the position of the
// tar and its sums.
//
// Two kinds are supported. makeself's own since 2.4 (github.com/megastep/makeself): the tar begins after
// `skip` lines and has `filesizes` bytes, which the sums cover. NVIDIA's variant of makeself 1.6, the format
// of its drivers: the tar begins at line `skip` and extends to the end of the file. A decompressor for hosts
// without one may precede the tar. The sums, in lines 2 and 3, cover everything after these lines.
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::content {

/// Limit in bytes of the script and the data embedded in it; NVIDIA's real ones have about 160 KiB.
inline constexpr std::size_t makeself_header_limit = std::size_t{4} << 20U;

struct MakeselfHeader {
    std::string label;        ///< "NVIDIA Accelerated Graphics Driver for Linux-x86_64 550.163.01"
    std::uint64_t offset = 0; ///< of the tar, in the file
    std::uint64_t size = 0;
    std::uint64_t summed = 0; ///< offset at which the summed bytes begin; they end with the tar
    std::string crc;          ///< of cksum(1), in decimal; empty here and below: the archive has none
    std::string md5;
    std::string sha256;
};

/// Parses the header. `start` is the beginning of the file, up to the limit. Fails with BadContent if it is
/// not such a script or does not match its file. Fails with Unsupported if the archive is encrypted, has
/// several parts, or was made by a makeself that is too old.
[[nodiscard]] base::Result<MakeselfHeader>
parse_makeself_header(std::string_view start, std::uint64_t file_size, std::string_view what);

/// Reads the beginning of the file and parses it.
[[nodiscard]] base::Result<MakeselfHeader> read_makeself_header(int fd, std::string_view what);

/// Hashes the file and compares it with the sums that its header has. They show that it is complete, not who
/// made it. Fails with BadContent if one differs. MD5 is compared if OpenSSL offers it; a FIPS provider alone
/// does not. Fails with Unsupported if MD5 is the only sum and not available.
[[nodiscard]] base::Result<void> check_makeself_sums(int fd, const MakeselfHeader& header,
                                                     std::string_view what);

} // namespace gpuhost::content
