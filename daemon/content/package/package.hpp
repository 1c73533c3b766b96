// SPDX-License-Identifier: Apache-2.0
// What a driver or a toolkit comes in, seen as one kind of thing. Which kind a file is it says itself, not its name.
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
    Run, ///< NVIDIA's
    Tar, ///< of the source of kernel modules alone, as this program makes one: all of it is in usr/src/NAME-VERSION/
};

/// Of a Tar's file.
inline constexpr std::string_view source_suffix = ".tar.zst";

/// By its first bytes; nothing: it is no package.
[[nodiscard]] base::Result<std::optional<PackageForm>> package_form(int fd, std::string_view what);

struct PackageInfo {
    PackageForm form = PackageForm::Deb;
    std::string package;
    std::string version;      ///< as its maker writes it: "535.261.03-1", with a Debian epoch before it
    std::string upstream;     ///< "535.261.03"
    std::string release;      ///< its maker's own count: "1", "1.el9"
    std::string architecture; ///< in the words of its kind: "amd64", "x86_64", "all", "noarch"
    std::uint64_t installed_bytes = 0; ///< what the package claims; 0 if it says nothing
};

/// Standing at the start of the package's files once it is open.
class Package {
  public:
    /// What it says of itself, without a look at its files.
    [[nodiscard]] static base::Result<PackageInfo> look(int fd, const std::string& what);
    /// `fd` must stay open. What is no package is BadContent.
    [[nodiscard]] static base::Result<Package> open(int fd, const std::string& what);

    [[nodiscard]] const PackageInfo& info() const { return info_; }
    /// The next file of the package, as ArchiveReader::next.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next();
    [[nodiscard]] ArchiveReader& data();

  private:
    using Reader = std::variant<Deb, Rpm, NvidiaRun, ArchiveReader>;
    Package(PackageInfo info, Reader reader) : info_(std::move(info)), reader_(std::move(reader)) {}

    PackageInfo info_;
    Reader reader_;
};

/// Is this machine's name, in the words of the package's kind.
[[nodiscard]] std::string_view machine_of(PackageForm form) noexcept;
[[nodiscard]] bool is_for_this_machine(const PackageInfo& info) noexcept;

} // namespace gpuhost::content
