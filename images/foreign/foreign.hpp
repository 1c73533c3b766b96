// SPDX-License-Identifier: Apache-2.0
// Images as other programs write them: OCI image layouts in a directory or a tar, and what "docker save" writes.
//
// A tar is read once, from its first byte to its last, packed or not. Each file in it becomes a blob named by the digest
// of its bytes; the names that it has there lead to no file of this machine, they are only compared. Links are taken
// for what they are in an archive, a second name, and followed once. Where a tar is both, as Docker writes them since
// version 25, the layout counts, so that images keep their digests; else manifests are made, and before version 1.10
// configurations too, the same for the same images on every host.
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

/// Reads a tar and says which images are in it, each with its names and, where it is stated, its platform. Whether all
/// their blobs are there shows who walks them. `what` names the archive.
[[nodiscard]] base::Result<Document>
read_image_archive(content::ArchiveReader archive, const std::string& what, BlobSink& blobs,
                   const std::function<void(std::uint64_t)>& on_bytes = {});

/// The same of a directory.
[[nodiscard]] base::Result<Document> read_layout_index(const base::Root& layout);

/// The name that an image has of its own, as containerd sees it: normalised, with a registry. Empty where it has none:
/// a tag alone is no name.
[[nodiscard]] std::string own_name(const Descriptor& image);

} // namespace gpuhost::images
