// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/artifact.hpp"
#include "images/bundle/signed_manifest.hpp"
#include "images/import/import.hpp"
#include "images/store/link_tree.hpp"

namespace gpuhost::images {

/// The artifacts of a bundle for this host, with their paths: in the store, or among the received blobs of
/// that bundle. Each document is compared with its digest, and the names in it must be valid file names.
struct HostArtifacts {
    std::vector<core::Artifact> others; ///< for other subsystems
    std::vector<LinkTree> packages;     ///< a repository for each distribution
    std::vector<LinkTree> files;        ///< by set name
};
[[nodiscard]] base::Result<HostArtifacts> host_artifacts(const base::Root& root, const SignedManifest& bundle,
                                                         const HostFacts& host);

} // namespace gpuhost::images
