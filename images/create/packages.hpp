// SPDX-License-Identifier: Apache-2.0
// Operating-system packages for a bundle: a repository as somebody made it, or one made of loose packages by the programs
// that their distribution has for it.
#pragma once

#include "images/create/artifact.hpp"

namespace gpuhost::images {

/// Its files, texts and hosts; the rest is as with other artifacts.
[[nodiscard]] base::Result<NewArtifact> make_packages(const ArtifactSource& source,
                                                      const CollectOptions& options);

} // namespace gpuhost::images
