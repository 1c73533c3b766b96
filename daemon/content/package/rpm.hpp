// SPDX-License-Identifier: Apache-2.0
// Reads an RPM package from a descriptor, without rpm and without running anything that is in it: of the header what names the
// package, and behind it the files.
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
    std::uint64_t payload = 0;         ///< where the archive of its files begins
    std::uint64_t installed_bytes = 0; ///< what the package claims; 0 if it says nothing
};

/// Standing at the start of the package's files once it is open.
class Rpm {
  public:
    [[nodiscard]] static base::Result<Rpm> open(int fd, const std::string& what);

    [[nodiscard]] const RpmHeader& header() const { return header_; }
    /// The next file of the package, as ArchiveReader::next.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next() { return data_.next(); }
    [[nodiscard]] ArchiveReader& data() { return data_; }

  private:
    Rpm(RpmHeader header, ArchiveReader data) : header_(std::move(header)), data_(std::move(data)) {}

    RpmHeader header_;
    ArchiveReader data_;
};

/// `image` is the package, or its beginning: as much as has both headers. A package without a name, a version and an
/// architecture is BadContent.
[[nodiscard]] base::Result<RpmHeader> parse_rpm_header(std::string_view image, std::string_view what);

/// rpm's word for the machine that this program was built for.
[[nodiscard]] std::string_view rpm_architecture() noexcept;

} // namespace gpuhost::content
