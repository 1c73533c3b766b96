// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/artifact.hpp"
#include "images/bundle/signed_manifest.hpp"
#include "images/import/import.hpp"
#include "images/store/link_tree.hpp"

namespace gpuhost::images {

/// The artifacts of a bundle that this host needs (drivers, packages, …), with the paths of their files. A
/// file is in the blob store, or in the incoming directory of the bundle. host_artifacts() compares each OCI
/// manifest with its digest. It fails with BadContent if a name in that manifest is not a valid file name or
/// path.
struct HostArtifacts {
    std::vector<core::Artifact> others; ///< drivers and toolkits, which other subsystems import
    std::vector<LinkTree> packages;     ///< one tree for each distribution
    std::vector<LinkTree> files;        ///< one tree for each set of files
};
[[nodiscard]] base::Result<HostArtifacts> host_artifacts(const base::Root& root, const SignedManifest& bundle,
                                                         const HostFacts& host);

/// Returns the kinds of the artifacts that this host needs. Reads only the manifest.
[[nodiscard]] std::vector<std::string> artifact_kinds_for(const BundleManifest& manifest,
                                                          const HostFacts& host);

/// Returns the driver versions of which this host imports packages or modules from the bundle, each once,
/// newest first.
[[nodiscard]] std::vector<std::string> drivers_for(const BundleManifest& manifest, const HostFacts& host);

} // namespace gpuhost::images
