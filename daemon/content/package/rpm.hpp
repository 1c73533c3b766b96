// SPDX-License-Identifier: Apache-2.0
// Reads an RPM package from a descriptor, without rpm and without executing anything in the package. Reads
// the name and version from the package's header, and reads the package's files.
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
    std::uint64_t payload = 0;         ///< offset of the archive that contains the files
    std::uint64_t installed_bytes = 0; ///< as the package declares; 0: not declared
};

/// An RPM package. After open(), next() returns its first file.
class Rpm {
  public:
    [[nodiscard]] static base::Result<Rpm> open(int fd, const std::string& what);

    [[nodiscard]] const RpmHeader& header() const { return header_; }
    /// Returns the next file of the package, like ArchiveReader::next.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next() { return data_.next(); }
    /// Returns the reader that has the content of the current file.
    [[nodiscard]] ArchiveReader& data() { return data_; }

  private:
    Rpm(RpmHeader header, ArchiveReader data) : header_(std::move(header)), data_(std::move(data)) {}

    RpmHeader header_;
    ArchiveReader data_;
};

/// Parses both headers of a package. `image` is the package, or its beginning up to the end of the headers.
/// Fails with BadContent if name, version, release or architecture is missing or not valid.
[[nodiscard]] base::Result<RpmHeader> parse_rpm_header(std::string_view image, std::string_view what);

/// Returns rpm's name of the architecture that this program was built for.
[[nodiscard]] std::string_view rpm_architecture() noexcept;

} // namespace gpuhost::content
