// SPDX-License-Identifier: Apache-2.0
// Archives made in memory, good ones and hostile ones.
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

/// As libarchive writes it; names go in as they are.
[[nodiscard]] std::string tar_of(const std::vector<Member>& members, Packing packing = Packing::None);
[[nodiscard]] std::string ar_of(const std::vector<Member>& members);
/// As libarchive writes "newc", with its last member.
[[nodiscard]] std::string cpio_of(const std::vector<Member>& members, Packing packing = Packing::None);
/// One compressed file.
[[nodiscard]] std::string packed(const std::string& content, Packing packing);

/// A .deb of `files` with that control file.
[[nodiscard]] std::string deb_of(const std::string& package, const std::string& version,
                                 const std::vector<Member>& files, Packing packing = Packing::Xz);

/// An RPM package for `architecture`, which claims to have a MiB.
[[nodiscard]] std::string rpm_of(const std::string& package, const std::string& version,
                                 const std::string& architecture, const std::vector<Member>& files,
                                 Packing packing = Packing::Zstd);

/// NVIDIA's .run of `members` and a .manifest with these lines, without sums.
[[nodiscard]] std::string run_of(const std::string& version, const std::vector<std::string>& manifest,
                                 const std::vector<Member>& members, Packing packing = Packing::Zstd);

/// One tar header alone, which claims a member of `size` bytes.
[[nodiscard]] std::string tar_header(const std::string& path, std::uint64_t size, char type = '0');
/// The header with the sum that goes with what was changed in it.
[[nodiscard]] std::string summed(std::string tar_header);
/// A header and content with what fills the last block.
[[nodiscard]] std::string raw_member(const std::string& tar_header, const std::string& content);
/// A pax header of the member that follows: "key=value" lines.
[[nodiscard]] std::string pax_records(const std::vector<std::string>& records);

} // namespace gpuhost::tests
