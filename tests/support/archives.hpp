// SPDX-License-Identifier: Apache-2.0
// Builds archives in memory, valid ones and hostile ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::tests {

struct Member {
    enum class Type { File, Directory, Link, HardLink, Device, Pipe };
    std::string path;
    std::string content{};
    Type type = Type::File;
    std::string target{};
    unsigned mode = 0644;
};

enum class Packing { None, Gzip, Xz, Zstd, Bzip2, Lz4, Lzma };

/// Returns a tar as libarchive writes it. Names are not changed.
[[nodiscard]] std::string tar_of(const std::vector<Member>& members, Packing packing = Packing::None);
[[nodiscard]] std::string ar_of(const std::vector<Member>& members);
/// Returns a "newc" cpio as libarchive writes it, with the trailer member.
[[nodiscard]] std::string cpio_of(const std::vector<Member>& members, Packing packing = Packing::None);
/// Returns one compressed file.
[[nodiscard]] std::string packed(const std::string& content, Packing packing);

/// Returns a .deb of `files` with that control file.
[[nodiscard]] std::string deb_of(const std::string& package, const std::string& version,
                                 const std::vector<Member>& files, Packing packing = Packing::Xz);

/// Returns an RPM package for `architecture`. Its header claims a size of 1 MiB.
[[nodiscard]] std::string rpm_of(const std::string& package, const std::string& version,
                                 const std::string& architecture, const std::vector<Member>& files,
                                 Packing packing = Packing::Zstd);

/// Returns an NVIDIA .run with `members` and a .manifest with these lines, without checksums.
[[nodiscard]] std::string run_of(const std::string& version, const std::vector<std::string>& manifest,
                                 const std::vector<Member>& members, Packing packing = Packing::Zstd);

/// Returns a single tar header, which claims a member of `size` bytes.
[[nodiscard]] std::string tar_header(const std::string& path, std::uint64_t size, char type = '0');
/// Returns the header with its checksum updated after changes.
[[nodiscard]] std::string summed(std::string tar_header);
/// Returns a header and its content, padded to a whole block.
[[nodiscard]] std::string raw_member(const std::string& tar_header, const std::string& content);
/// Returns a pax header for the next member: "key=value" lines.
[[nodiscard]] std::string pax_records(const std::vector<std::string>& records);

} // namespace gpuhost::tests
