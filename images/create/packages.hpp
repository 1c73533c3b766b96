// SPDX-License-Identifier: Apache-2.0
// Operating-system packages for a bundle: an existing repository, or one made of loose packages. The
// distribution's own programs make it.
#pragma once

#include "images/create/artifact.hpp"

namespace gpuhost::images {

/// Returns the files, texts and hosts. make_artifact() adds the rest, as for other artifacts.
[[nodiscard]] base::Result<NewArtifact> make_packages(const ArtifactSource& source,
                                                      const CollectOptions& options);

} // namespace gpuhost::images
