// SPDX-License-Identifier: Apache-2.0
// Reads the output of apt-cache and apt-get.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

/// One version of a package in the archive.
struct ArchivePackage {
    std::string name;
    std::string version; ///< Debian's, with epoch and revision
    std::string priority;
    std::string file; ///< file name in the archive, without a directory: "make_4.3-4.1_amd64.deb"
    std::string sha256;
    std::uint64_t size = 0;
    std::string url; ///< where apt fetches it from; empty if unknown

    /// "make=4.3-4.1", as apt-get names this version
    [[nodiscard]] std::string word() const { return name + "=" + version; }
    /// The version without epoch and revision: "535.261.03".
    [[nodiscard]] std::string upstream() const;
    /// Required and important packages are on every host.
    [[nodiscard]] bool is_on_every_host() const { return priority == "required" || priority == "important"; }
};

/// Accepts a file name that is safe as a path component and as a pattern in a specification.
[[nodiscard]] bool is_plain_name(std::string_view name);

/// Parses the stanzas that 'apt-cache show' prints. Skips a stanza without a valid name, version, digest or
/// file name, such as that of an installed package.
[[nodiscard]] std::vector<ArchivePackage> parse_stanzas(std::string_view text);

/// Parses what 'apt-get install --print-uris' prints: the packages that would be installed, with name,
/// version and url. Skips `local`, absolute paths of .deb files that apt was given.
[[nodiscard]] std::vector<ArchivePackage> parse_uris(std::string_view text,
                                                     const std::vector<std::string>& local);

} // namespace gpuhost::ctl
