// SPDX-License-Identifier: Apache-2.0
// Reads images that other programs write: OCI image layouts in a directory or a tar, and archives of "docker
// save".
//
// A tar, compressed or not, is read once from its first byte to its last. Each file becomes a blob named by
// its digest. Paths in the tar are never used as paths of this machine. A link in the tar is a second name of
// one of its files; a link to another link is not followed. Docker 25 and later write an OCI layout and a
// manifest.json into one tar. The OCI layout is then used, so that images keep their digests. For archives
// without a layout, OCI manifests are made, the same on every host. Archives of Docker before 1.10, without a
// manifest.json, are refused.
#pragma once

#include "daemon/content/archive/archive.hpp"
#include "images/bundle/oci.hpp"
#include "images/store/blob_source.hpp"

#include <functional>
#include <string>

namespace gpuhost::images {

inline constexpr content::ArchiveLimits image_archive_limits{
    .entries = 200'000,
    .entry_bytes = std::uint64_t{256} << 30U,
    .total_bytes = std::uint64_t{4} << 40U,
    .path_bytes = 512,
    .ratio = 250,
    .unrated_bytes = std::uint64_t{256} << 20U,
};

/// Reads a tar, adds its files to `blobs` and returns the index of its images. Names and platform of an image
/// are in its descriptor, if the archive states them. Does not check that all blobs of the images are
/// present. `what` names the archive in errors. Calls `on_bytes` after each read, with the bytes of that
/// read.
[[nodiscard]] base::Result<Document>
read_image_archive(content::ArchiveReader archive, const std::string& what, BlobSink& blobs,
                   const std::function<void(std::uint64_t)>& on_bytes = {});

/// Returns the index of the images in the directory of an OCI image layout.
[[nodiscard]] base::Result<Document> read_layout_index(const base::Root& layout);

/// Returns the name of an image in its descriptor's annotations, normalised
/// ("docker.io/library/busybox:latest"). Empty if the annotations have no name; a tag alone is not a name.
[[nodiscard]] std::string own_name(const Descriptor& image);

} // namespace gpuhost::images
