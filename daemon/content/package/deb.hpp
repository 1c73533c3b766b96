// SPDX-License-Identifier: Apache-2.0
// Reads a Debian package (deb(5)) from a descriptor, without dpkg and without executing anything in the
// package.
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gpuhost::content {

struct DebControl {
    std::string package;
    std::string version;               ///< as written: "535.261.03-1"
    std::string upstream;              ///< without epoch and revision: "535.261.03"
    std::string architecture;          ///< "amd64", "all"
    std::uint64_t installed_bytes = 0; ///< as the package declares; 0: not declared
};

/// A Debian package. After open(), next() returns its first file.
class Deb {
  public:
    [[nodiscard]] static base::Result<Deb> open(int fd, const std::string& what);
    [[nodiscard]] static base::Result<Deb> open(std::string_view memory, const std::string& what);

    [[nodiscard]] const DebControl& control() const { return control_; }
    /// Returns the next file of the package, like ArchiveReader::next.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next() { return data_.next(); }
    /// Returns the reader that has the content of the current file.
    [[nodiscard]] ArchiveReader& data() { return data_; }

  private:
    Deb(ArchiveReader outer, DebControl control, ArchiveReader data)
        : outer_(std::move(outer)), control_(std::move(control)), data_(std::move(data)) {}
    [[nodiscard]] static base::Result<Deb> read(ArchiveReader outer, const std::string& what);

    ArchiveReader outer_;
    DebControl control_;
    ArchiveReader data_; ///< reads from outer_: declared after it, so that it is destroyed first
};

/// Parses those fields of a control file that are members of DebControl. Fails with BadContent if the name or
/// the version is missing or not valid.
[[nodiscard]] base::Result<DebControl> parse_deb_control(std::string_view text, std::string_view what);

/// Returns dpkg's name of the architecture that this program was built for.
[[nodiscard]] std::string_view deb_architecture() noexcept;

} // namespace gpuhost::content
