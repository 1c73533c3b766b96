// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's toolkit comes in, seen as one kind of thing: a package, or a tar. Which one it is the file itself says, not
// its name.
#pragma once

#include "daemon/content/package/package.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace gpuhost::runtime {

struct PackageName {
    std::string package; ///< "nvidia-container-toolkit-base"; of a tar its file's name
    std::string version; ///< "1.18.1-1"
    std::string toolkit; ///< the toolkit's own: "1.18.1"; empty: it does not say
};

/// Standing at its first file once it is open.
class ToolkitPackage {
  public:
    /// `name` is the file's. Unsupported: it is for another kind of machine.
    [[nodiscard]] static base::Result<ToolkitPackage> open(int fd, const std::string& name);

    [[nodiscard]] const PackageName& name() const { return name_; }
    [[nodiscard]] bool is_tar() const { return std::holds_alternative<content::ArchiveReader>(reader_); }
    [[nodiscard]] base::Result<std::optional<content::ArchiveEntry>> next() { return data().next(); }
    [[nodiscard]] content::ArchiveReader& data();

  private:
    using Reader = std::variant<content::Package, content::ArchiveReader>;
    ToolkitPackage(PackageName name, Reader reader) : name_(std::move(name)), reader_(std::move(reader)) {}

    PackageName name_;
    Reader reader_;
};

/// "1.18.1" of "nvidia-container-toolkit_1.18.1_linux_amd64.tar.gz"; empty: there is none in it.
[[nodiscard]] std::string version_in_name(std::string_view file);

/// The toolkit's version of a package's version and release: of an RPM package of a candidate that is "0.1.rc.2".
[[nodiscard]] std::string toolkit_version(std::string_view version, std::string_view release);

} // namespace gpuhost::runtime
