// SPDX-License-Identifier: Apache-2.0
// Reads images that other programs write: OCI image layouts in a directory or a tar, and archives of "docker
// save".
//
// A tar, compressed or not, is read once from its first byte to its last. Each file becomes a blob named by
// its digest. The names in the tar are only compared; they never lead to a file of this machine. A link is a
// second name of a file in the archive and is followed once. Docker from version 25 on writes both forms into
// one tar: the layout takes precedence, so that images keep their digests. Otherwise manifests are made, and
// configurations too for Docker before version 1.10. The result is the same on every host.
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

/// Reads a tar and returns the images in it, each with its names and its platform, if stated. Does not check
/// that all their blobs are present. `what` names the archive in messages.
[[nodiscard]] base::Result<Document>
read_image_archive(content::ArchiveReader archive, const std::string& what, BlobSink& blobs,
                   const std::function<void(std::uint64_t)>& on_bytes = {});

/// The same for a directory.
[[nodiscard]] base::Result<Document> read_layout_index(const base::Root& layout);

/// Returns the image's own name, normalised with a registry, as containerd sees it. Empty if there is none; a
/// tag alone is not a name.
[[nodiscard]] std::string own_name(const Descriptor& image);

} // namespace gpuhost::images
