// SPDX-License-Identifier: Apache-2.0
// Repositories of operating-system packages in a bundle. What one is for apt or dnf follows from the names of its files;
// its indexes are for these to read, and nothing here does.
//
//   dists/bookworm/InRelease, dists/bookworm/main/binary-amd64/Packages.xz   suite bookworm with component main
//   Packages, tools/Packages.gz                                              flat ones: ./ and tools/
//   repodata/repomd.xml, BaseOS/repodata/repomd.xml                          dnf's
//   gpuhost.asc                                                              the OpenPGP key that they are signed with
#pragma once

#include "daemon/base/json.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view package_key = "gpuhost.asc";

struct AptSuite {
    std::string name;                    ///< "bookworm"; a flat one's directory: "./"
    std::vector<std::string> components; ///< a flat one has none
    bool is_signed = false;
};

struct DnfRepository {
    std::string directory; ///< below the tree's own; empty: that
    bool is_signed = false;

    [[nodiscard]] std::string index() const; ///< "repodata/repomd.xml" in it
};

/// "dists/bookworm/InRelease"; "repodata/repomd.xml.asc" of "repodata/repomd.xml".
struct IndexSignature {
    std::string file;
    std::string index; ///< empty: it is in the same file
};

/// A tree of files for one distribution.
struct PackageTree {
    std::string distribution; ///< "debian-12"
    std::uint64_t files = 0;
    bool has_key = false;
    std::vector<AptSuite> apt;
    std::vector<DnfRepository> dnf;

    [[nodiscard]] bool empty() const { return apt.empty() && dnf.empty(); }
    /// What is there without a signature, as messages name it; empty: nothing.
    [[nodiscard]] std::string first_unsigned() const;
    /// Those that apt and dnf look at. `names` are those that it was made of.
    [[nodiscard]] std::vector<IndexSignature> signatures(const std::vector<std::string>& names) const;
};

/// `names` are sorted. What apt's or dnf's configuration could not name is left out.
[[nodiscard]] PackageTree package_tree(std::string distribution, const std::vector<std::string>& names);

[[nodiscard]] base::Json to_json(const PackageTree& tree);
/// BadContent for words that can't stand in apt's or dnf's configuration.
[[nodiscard]] base::Result<PackageTree> package_tree_from_json(const base::Json& value);

} // namespace gpuhost::images
