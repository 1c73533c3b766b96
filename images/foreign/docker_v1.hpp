// SPDX-License-Identifier: Apache-2.0
// Reads images that Docker before version 1.10 saved (its image specification 1.0), without manifests and
// configurations. `repositories` maps a name to the directory of an image's topmost layer. Each layer's
// directory has a "layer.tar", and a "json" with its history and the name of its parent.
#pragma once

#include "images/foreign/docker.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct DockerV1Image {
    std::string top;                ///< the directory of its topmost layer, as written there
    std::vector<std::string> names; ///< normalised, at least one
};

[[nodiscard]] base::Result<std::vector<DockerV1Image>> parse_docker_repositories(std::string_view document);

/// Makes a configuration from the layers' descriptions and continues as for newer archives. A layer without
/// files becomes an entry of the history only.
[[nodiscard]] base::Result<std::vector<Descriptor>>
convert_docker_image(const DockerV1Image& image, const FindFile& find, BlobSink& blobs);

} // namespace gpuhost::images
