// SPDX-License-Identifier: Apache-2.0
// Converts images of "docker save" of Docker before version 1.10 to OCI (Docker's image specification 1.0).
// Such an archive has no manifests and configurations. Its file "repositories" maps an image's name to the
// directory of the topmost layer. The directory of each layer has a "layer.tar", and a "json" with the
// layer's history and the directory of its parent layer.
#pragma once

#include "images/foreign/docker.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct DockerV1Image {
    std::string top;                ///< the directory of its topmost layer, as in "repositories"
    std::vector<std::string> names; ///< normalised, at least one
};

[[nodiscard]] base::Result<std::vector<DockerV1Image>> parse_docker_repositories(std::string_view document);

/// Makes a configuration from the "json" of the layers, adds it to `blobs`, and calls the
/// convert_docker_image() for newer archives (docker.hpp). A layer without files is only in the
/// configuration's history.
[[nodiscard]] base::Result<std::vector<Descriptor>>
convert_docker_image(const DockerV1Image& image, const FindFile& find, BlobSink& blobs);

} // namespace gpuhost::images
