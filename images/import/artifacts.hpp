// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/artifact.hpp"
#include "images/bundle/signed_manifest.hpp"
#include "images/import/import.hpp"
#include "images/store/link_tree.hpp"

namespace gpuhost::images {

/// What this host takes of a bundle besides images, and where it lies: in the store, or among what was received of that
/// bundle. Each document is held to its digest, and the names in it to what can be a file's.
struct HostArtifacts {
    std::vector<core::Artifact> others; ///< for other rooms
    std::vector<LinkTree> packages;     ///< a repository for each distribution
    std::vector<LinkTree> files;        ///< by the name of their set
};
[[nodiscard]] base::Result<HostArtifacts> host_artifacts(const base::Root& root, const SignedManifest& bundle,
                                                         const HostFacts& host);

} // namespace gpuhost::images
