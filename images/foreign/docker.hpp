// SPDX-License-Identifier: Apache-2.0
// Converts images of "docker save" to OCI. Such an archive has a manifest.json (Docker's image specification
// 1.2) that lists each image's names, configuration and layers.
#pragma once

#include "images/bundle/oci.hpp"
#include "images/store/blob_source.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct DockerImage {
    std::string config;              ///< path in the archive
    std::vector<std::string> names;  ///< normalised; may be empty
    std::vector<std::string> layers; ///< paths in the archive
};

[[nodiscard]] base::Result<std::vector<DockerImage>> parse_docker_manifest(std::string_view text);

/// Returns digest and size of a file of the archive, by its path in the archive. Fails with BadContent if
/// there is no such file.
using FindFile = std::function<base::Result<content::FileDigest>(const std::string& path)>;

/// Makes an OCI manifest of an image and adds it to `blobs`, which has the archive's files. Fails with
/// BadContent if a layer does not match its digest in the configuration. Returns the manifest's descriptor
/// once for each name of the image; if it has none, once without a name.
[[nodiscard]] base::Result<std::vector<Descriptor>>
convert_docker_image(const DockerImage& image, const FindFile& find, BlobSink& blobs);

} // namespace gpuhost::images
