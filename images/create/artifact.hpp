// SPDX-License-Identifier: Apache-2.0
// Makes an artifact of a bundle from files (a driver, packages, …): an OCI manifest whose layers are the
// files, as ORAS makes it.
#pragma once

#include "images/create/create.hpp"

#include <filesystem>
#include <functional>

namespace gpuhost::images {

/// An artifact and the content of its blobs.
struct NewArtifact {
    struct File {
        std::string name; ///< title of its layer: a file name, or a path in a tree
        std::string hex;
        std::uint64_t size = 0;
        Content content;
    };
    BundleArtifact artifact;
    std::string document;           ///< the OCI manifest
    std::vector<File> files;        ///< sorted by name
    std::vector<std::string> hosts; ///< words of Member::hosts
};

/// Reports whether one host might import both artifacts although they have the same kind, name, kernel and
/// flavour. A bundle with both is refused.
[[nodiscard]] bool is_for_same_host(const NewArtifact& a, const NewArtifact& b);

constexpr std::string_view empty_config = "{}"; ///< application/vnd.oci.empty.v1+json

/// Makes the artifact of one section of the specification. Reads and hashes all its files. If the section has
/// no platform, the artifact is for the platform in the names of its packages, if they state one.
[[nodiscard]] base::Result<NewArtifact> make_artifact(const ArtifactSource& source,
                                                      const CollectOptions& options);

/// Adds the files that match the source's patterns. Relative patterns begin at `directory`. Fails with
/// NotFound if a pattern matches no file.
[[nodiscard]] base::Result<void> add_files(NewArtifact& made, const ArtifactSource& source,
                                           const std::string& directory);
/// Adds all files below `directory`, named by their paths relative to it. Follows symbolic links. Skips
/// directories for which `leave` returns true.
[[nodiscard]] base::Result<void>
add_tree(NewArtifact& made, const std::string& directory,
         const std::function<bool(const std::filesystem::directory_entry&)>& leave);

} // namespace gpuhost::images
