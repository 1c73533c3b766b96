// SPDX-License-Identifier: Apache-2.0
// Operating-system packages for a bundle, a section [Packages DISTRIBUTION]. They are an existing repository
// (Repository=), or packages from which apt-ftparchive or createrepo_c makes a repository (Files=).
#pragma once

#include "images/create/artifact.hpp"

namespace gpuhost::images {

/// Returns the files, texts and hosts of the artifact; make_artifact() calls this and adds the rest. For an
/// existing repository with a key, verifies its signatures as hosts do.
[[nodiscard]] base::Result<NewArtifact> make_packages(const ArtifactSource& source,
                                                      const CollectOptions& options);

} // namespace gpuhost::images
