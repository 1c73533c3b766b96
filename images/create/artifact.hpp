// SPDX-License-Identifier: Apache-2.0
// An artifact of a bundle, made from files: an OCI manifest whose layers are the files, as ORAS has them.
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
        std::string path; ///< empty: it is among the texts
    };
    BundleArtifact artifact;
    std::string document;
    std::vector<File> files;                  ///< in order of name
    std::map<std::string, std::string> texts; ///< what was made for it, by digest
    std::vector<std::string> hosts;           ///< as in Member
};

/// Would one host take both, though only one of them can be right for it?
[[nodiscard]] bool is_for_same_host(const NewArtifact& a, const NewArtifact& b);

constexpr std::string_view empty_config = "{}"; ///< application/vnd.oci.empty.v1+json

/// Reads and hashes all of its files. Packages of one architecture are for hosts of that one, where the specification
/// says nothing else.
[[nodiscard]] base::Result<NewArtifact> make_artifact(const ArtifactSource& source,
                                                      const CollectOptions& options);

/// Those that the source's patterns name, relative to `directory`.
[[nodiscard]] base::Result<void> take_files(NewArtifact& made, const ArtifactSource& source,
                                            const std::string& directory);
/// All below a directory, under their names there. Links are followed, but directories that `leave` says.
[[nodiscard]] base::Result<void>
take_tree(NewArtifact& made, const std::string& directory,
          const std::function<bool(const std::filesystem::directory_entry&)>& leave);

} // namespace gpuhost::images
