// SPDX-License-Identifier: Apache-2.0
// Repositories of operating-system packages in a bundle. Whether a repository is for apt or for dnf is
// decided by the names of its files alone. gpuhostd does not parse its indexes.
//
//   dists/bookworm/InRelease, dists/bookworm/main/binary-amd64/Packages.xz   suite bookworm, component main
//   Packages, tools/Packages.gz                                              flat: ./ and tools/
//   repodata/repomd.xml, BaseOS/repodata/repomd.xml                          a repository for dnf
//   gpuhost.asc                                                              the OpenPGP key that signs them
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// The path of the OpenPGP key in a tree. This key signs the repositories of the tree.
constexpr std::string_view package_key = "gpuhost.asc";

struct AptSuite {
    std::string name;                    ///< "bookworm"; of a flat repository its directory: "./"
    std::vector<std::string> components; ///< "main"; empty for a flat repository
    bool is_signed = false;
};

struct DnfRepository {
    std::string directory; ///< relative to the tree; empty: the tree's own directory
    bool is_signed = false;

    /// Returns the path of its "repodata/repomd.xml" in the tree.
    [[nodiscard]] std::string index() const;
};

/// An OpenPGP signature of an index: "dists/bookworm/InRelease", or "repodata/repomd.xml.asc", which signs
/// "repodata/repomd.xml".
struct IndexSignature {
    std::string file;
    std::string index; ///< the signed file; empty: the signature is inside `file`, as in InRelease
};

/// The files of one section [Packages DISTRIBUTION], and the repositories in them.
struct PackageTree {
    std::string distribution; ///< "debian-12"
    std::uint64_t files = 0;
    bool has_key = false;
    std::vector<AptSuite> apt;
    std::vector<DnfRepository> dnf;

    [[nodiscard]] bool empty() const { return apt.empty() && dnf.empty(); }
    /// Returns the first suite or index without a signature, as text for messages; empty if all are signed.
    [[nodiscard]] std::string first_unsigned() const;
    /// Returns the signatures that apt and dnf verify. `names` are the paths from which package_tree() made
    /// this object, sorted.
    [[nodiscard]] std::vector<IndexSignature> signatures(const std::vector<std::string>& names) const;
};

/// Finds the repositories among `names`, the sorted paths of all files. Leaves out repositories with a path
/// that would need quoting in apt's or dnf's configuration.
[[nodiscard]] PackageTree package_tree(std::string distribution, const std::vector<std::string>& names);

[[nodiscard]] base::Json to_json(const PackageTree& tree);
/// Fails with BadContent for a path that would need quoting in apt's or dnf's configuration.
[[nodiscard]] base::Result<PackageTree> package_tree_from_json(const base::Json& value);

} // namespace gpuhost::images
