// SPDX-License-Identifier: Apache-2.0
// Repositories of operating-system packages in a bundle. The names of the files show whether apt or dnf reads
// a repository. Only apt and dnf parse its indexes.
//
//   dists/bookworm/InRelease, dists/bookworm/main/binary-amd64/Packages.xz   suite bookworm, component main
//   Packages, tools/Packages.gz                                              flat: ./ and tools/
//   repodata/repomd.xml, BaseOS/repodata/repomd.xml                          a repository for dnf
//   gpuhost.asc                                                              the OpenPGP key that signs them
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
    std::string directory; ///< below the tree's directory; empty: that directory
    bool is_signed = false;

    /// Returns the path of its "repodata/repomd.xml".
    [[nodiscard]] std::string index() const;
};

/// A signature: "dists/bookworm/InRelease", or "repodata/repomd.xml.asc" of "repodata/repomd.xml".
struct IndexSignature {
    std::string file;
    std::string index; ///< empty: the signature is in the same file
};

/// A tree of files for one distribution.
struct PackageTree {
    std::string distribution; ///< "debian-12"
    std::uint64_t files = 0;
    bool has_key = false;
    std::vector<AptSuite> apt;
    std::vector<DnfRepository> dnf;

    [[nodiscard]] bool empty() const { return apt.empty() && dnf.empty(); }
    /// Returns the first unsigned suite or index, as messages name it; empty if all are signed.
    [[nodiscard]] std::string first_unsigned() const;
    /// Returns the signatures that apt and dnf verify. `names` are the files that the tree was made of.
    [[nodiscard]] std::vector<IndexSignature> signatures(const std::vector<std::string>& names) const;
};

/// Builds the tree from sorted `names`. Leaves out what apt's or dnf's configuration could not name.
[[nodiscard]] PackageTree package_tree(std::string distribution, const std::vector<std::string>& names);

[[nodiscard]] base::Json to_json(const PackageTree& tree);
/// Fails with BadContent for words that are invalid in apt's or dnf's configuration.
[[nodiscard]] base::Result<PackageTree> package_tree_from_json(const base::Json& value);

} // namespace gpuhost::images
