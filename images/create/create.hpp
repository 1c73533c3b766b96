// SPDX-License-Identifier: Apache-2.0
// Collects the content of a bundle: turns a specification into a manifest and the blobs of its members. Runs
// on the machine where bundles are made, without a daemon.
#pragma once

#include "images/bundle/manifest.hpp"
#include "images/bundle/spec.hpp"
#include "images/bundle/writer.hpp"
#include "images/create/image_stock.hpp"
#include "images/store/blob_source.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gpuhost::images {

/// A manifest, and the sources of its members' content.
struct Contents {
    BundleManifest manifest;
    std::vector<std::unique_ptr<BlobSource>> sources;
    std::map<std::string, const BlobSource*> blobs; ///< digest → one of `sources`
    std::map<std::string, std::string> files;       ///< digest → path
    std::map<std::string, std::string> texts;       ///< digest → generated content

    [[nodiscard]] base::Result<MemberBytes> open(const Member& member) const;
};

struct CollectOptions {
    std::string directory = "."; ///< base of relative paths in the specification
    std::string scratch = ".";   ///< directory with space for unpacked archives
    std::uint64_t created = 0;   ///< seconds since 1970
    bool dry_run = false;        ///< signs no packages and asks for no passphrase
};

[[nodiscard]] base::Result<Contents> collect(const BundleSpec& spec, const CollectOptions& options);

/// Makes a manifest of all images in `stock` for hosts of one platform, including unnamed ones. It contains
/// no date: the same images have the same manifest.
[[nodiscard]] base::Result<BundleManifest> describe(const ImageStock& stock, const std::string& bundle,
                                                    const std::string& platform);

} // namespace gpuhost::images
