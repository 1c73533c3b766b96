// SPDX-License-Identifier: Apache-2.0
// Makes an artifact of a bundle from files: an OCI manifest whose layers are the files, as in ORAS.
#pragma once

#include "images/create/create.hpp"

#include <filesystem>
#include <functional>

namespace gpuhost::images {

struct NewArtifact {
    struct File {
        std::string name; ///< in the artifact
        std::string hex;
        std::uint64_t size = 0;
        std::string path; ///< empty: the content is in `texts`
    };
    BundleArtifact artifact;
    std::string document;
    std::vector<File> files;                  ///< sorted by name
    std::map<std::string, std::string> texts; ///< generated content, by digest
    std::vector<std::string> hosts;           ///< as in Member
};

/// Reports whether one host may get both artifacts, although at most one of them is right for it.
[[nodiscard]] bool is_for_same_host(const NewArtifact& a, const NewArtifact& b);

constexpr std::string_view empty_config = "{}"; ///< application/vnd.oci.empty.v1+json

/// Reads and hashes all files. Packages of one architecture are for its hosts, unless the specification says
/// otherwise.
[[nodiscard]] base::Result<NewArtifact> make_artifact(const ArtifactSource& source,
                                                      const CollectOptions& options);

/// Adds the files that match the source's patterns, relative to `directory`.
[[nodiscard]] base::Result<void> add_files(NewArtifact& made, const ArtifactSource& source,
                                           const std::string& directory);
/// Adds all files below a directory, by their relative paths. Follows links, except to directories for which
/// `leave` returns true.
[[nodiscard]] base::Result<void>
add_tree(NewArtifact& made, const std::string& directory,
         const std::function<bool(const std::filesystem::directory_entry&)>& leave);

} // namespace gpuhost::images
