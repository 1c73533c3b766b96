// SPDX-License-Identifier: Apache-2.0
// Reads an RPM package from a descriptor, without rpm and without running anything in it: the name and
// version from its header, and its files.
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::content {

struct RpmHeader {
    std::string package;
    std::string version;               ///< "1.18.1"
    std::string release;               ///< "1.el9"
    std::string architecture;          ///< "x86_64", "noarch"
    std::uint64_t payload = 0;         ///< offset of the archive with its files
    std::uint64_t installed_bytes = 0; ///< as the package claims; 0 if it does not tell
};

/// After open() the reader is at the start of the package's files.
class Rpm {
  public:
    [[nodiscard]] static base::Result<Rpm> open(int fd, const std::string& what);

    [[nodiscard]] const RpmHeader& header() const { return header_; }
    /// Returns the next file of the package, like ArchiveReader::next.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next() { return data_.next(); }
    [[nodiscard]] ArchiveReader& data() { return data_; }

  private:
    Rpm(RpmHeader header, ArchiveReader data) : header_(std::move(header)), data_(std::move(data)) {}

    RpmHeader header_;
    ArchiveReader data_;
};

/// Parses the headers. `image` is the package, or as much of its beginning as has both headers. Fails with
/// BadContent if it has no name, version and architecture.
[[nodiscard]] base::Result<RpmHeader> parse_rpm_header(std::string_view image, std::string_view what);

/// Returns rpm's name of the machine that this program was built for.
[[nodiscard]] std::string_view rpm_architecture() noexcept;

} // namespace gpuhost::content
