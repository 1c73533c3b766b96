// SPDX-License-Identifier: Apache-2.0
// Reads manifest.json of "docker save" (Docker's image specification 1.2), and makes OCI manifests of it.
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
    std::vector<std::string> names;  ///< normalised; may be none
    std::vector<std::string> layers; ///< paths in the archive
};

[[nodiscard]] base::Result<std::vector<DockerImage>> parse_docker_manifest(std::string_view text);

/// Finds a file of the archive by its path there.
using FindFile = std::function<base::Result<content::FileDigest>(const std::string& path)>;

/// Compares the layers with the configuration and adds an OCI manifest to `blobs`. Returns one descriptor for
/// each name, or one without a name.
[[nodiscard]] base::Result<std::vector<Descriptor>>
convert_docker_image(const DockerImage& image, const FindFile& find, BlobSink& blobs);
/// The same for a configuration that is not a file of the archive.
[[nodiscard]] base::Result<std::vector<Descriptor>> convert_docker_image(const DockerImage& image,
                                                                         const content::FileDigest& config,
                                                                         const FindFile& find,
                                                                         BlobSink& blobs);

/// Returns the SHA-256 of the uncompressed layer; empty if the layer has no files. Fails with BadContent
/// unless the layer is a tar, plain or compressed with gzip or zstd.
[[nodiscard]] base::Result<std::string> unpacked_layer(const content::FileDigest& layer,
                                                       const std::string& path, const BlobSource& blobs);

} // namespace gpuhost::images
