// SPDX-License-Identifier: Apache-2.0
// Reads the packages of drivers and toolkits through one interface. The format is detected by content, not by
// file name.
#pragma once

#include "daemon/content/package/deb.hpp"
#include "daemon/content/package/nvidia_run.hpp"
#include "daemon/content/package/rpm.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace gpuhost::content {

enum class PackageForm {
    Deb,
    Rpm,
    Run, ///< NVIDIA's .run file
    /// A tar that gpuhost itself creates: only the source of kernel modules, in usr/src/NAME-VERSION/.
    Tar,
};

/// The end of file names of PackageForm::Tar.
inline constexpr std::string_view source_suffix = ".tar.zst";

/// Detects the format by the first bytes. Returns nothing if the file is not a package.
[[nodiscard]] base::Result<std::optional<PackageForm>> package_form(int fd, std::string_view what);

struct PackageInfo {
    PackageForm form = PackageForm::Deb;
    std::string package;
    std::string version;      ///< the complete version, with a Debian epoch if it has one: "535.261.03-1"
    std::string upstream;     ///< "535.261.03"
    std::string release;      ///< the packager's revision: "1", "1.el9"
    std::string architecture; ///< in the format's words: "amd64", "x86_64", "all", "noarch"
    std::uint64_t installed_bytes = 0; ///< as the package declares; 0: not declared
};

/// A package of any form. After open(), next() returns its first file.
class Package {
  public:
    /// Returns what the package declares, without reading its files.
    [[nodiscard]] static base::Result<PackageInfo> look(int fd, const std::string& what);
    /// Opens a package. `fd` must stay open. Fails with BadContent if it is not a package.
    [[nodiscard]] static base::Result<Package> open(int fd, const std::string& what);

    [[nodiscard]] const PackageInfo& info() const { return info_; }
    /// Returns the next file of the package, like ArchiveReader::next.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next();
    /// Returns the reader that has the content of the current file.
    [[nodiscard]] ArchiveReader& data();

  private:
    using Reader = std::variant<Deb, Rpm, NvidiaRun, ArchiveReader>;
    Package(PackageInfo info, Reader reader) : info_(std::move(info)), reader_(std::move(reader)) {}

    PackageInfo info_;
    Reader reader_;
};

/// Returns the format's name of the architecture that this program was built for: "amd64", "x86_64".
[[nodiscard]] std::string_view machine_of(PackageForm form) noexcept;
[[nodiscard]] bool is_for_this_machine(const PackageInfo& info) noexcept;

} // namespace gpuhost::content
