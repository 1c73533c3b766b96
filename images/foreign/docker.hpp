// SPDX-License-Identifier: Apache-2.0
// manifest.json of "docker save" (Docker's image specification 1.2), and OCI manifests made of what it says.
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

/// A file of the archive by its path there.
using FindFile = std::function<base::Result<content::FileDigest>(const std::string& path)>;

/// Compares the layers with what the configuration says of them, and adds a manifest to `blobs`. One descriptor for each
/// name, or one without.
[[nodiscard]] base::Result<std::vector<Descriptor>> adopt_docker_image(const DockerImage& image,
                                                                       const FindFile& find, BlobSink& blobs);
/// The same with a configuration that is no file of the archive.
[[nodiscard]] base::Result<std::vector<Descriptor>> adopt_docker_image(const DockerImage& image,
                                                                       const content::FileDigest& config,
                                                                       const FindFile& find, BlobSink& blobs);

/// The SHA-256 of a layer before it was packed; empty where nothing is in it. BadContent for what is neither a tar nor
/// one packed with gzip or zstd.
[[nodiscard]] base::Result<std::string> unpacked_layer(const content::FileDigest& layer,
                                                       const std::string& path, const BlobSource& blobs);

} // namespace gpuhost::images
