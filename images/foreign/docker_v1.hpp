// SPDX-License-Identifier: Apache-2.0
// Images as Docker saved them before version 1.10 (its image specification 1.0): with neither manifests nor
// configurations. `repositories` leads from a name to the directory of an image's topmost layer. Each layer has a
// "layer.tar" in its directory, and a "json" with what it was made by and the name of its parent's.
#pragma once

#include "images/foreign/docker.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct DockerV1Image {
    std::string top;                ///< its topmost layer's directory, as it stands there
    std::vector<std::string> names; ///< normalised, at least one
};

[[nodiscard]] base::Result<std::vector<DockerV1Image>> parse_docker_repositories(std::string_view document);

/// Makes a configuration of what the layers say of themselves, and goes on as with newer archives. Layers that have
/// nothing in them are steps of its history alone.
[[nodiscard]] base::Result<std::vector<Descriptor>> adopt_docker_image(const DockerV1Image& image,
                                                                       const FindFile& find, BlobSink& blobs);

} // namespace gpuhost::images
