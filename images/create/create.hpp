// SPDX-License-Identifier: Apache-2.0
// What goes into a bundle: from a specification to a manifest and the blobs of its members. On the machine where bundles
// are made, which needs no daemon.
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

/// A manifest, and where its members are.
struct Contents {
    BundleManifest manifest;
    std::vector<std::unique_ptr<BlobSource>> sources;
    std::map<std::string, const BlobSource*> blobs; ///< by digest: one of `sources`
    std::map<std::string, std::string> files;       ///< path by digest
    std::map<std::string, std::string> texts;       ///< what is made for the bundle, by digest

    [[nodiscard]] base::Result<MemberBytes> open(const Member& member) const;
};

struct CollectOptions {
    std::string directory = "."; ///< what relative paths in the specification start from
    std::string scratch = ".";   ///< where there is room for what archives unpack to
    std::uint64_t created = 0;   ///< seconds since 1970
    bool dry_run = false;        ///< packages are not signed, and nobody is asked for a passphrase
};

[[nodiscard]] base::Result<Contents> collect(const BundleSpec& spec, const CollectOptions& options);

/// A manifest of all images of `stock` for hosts of one platform, also of those without a name. It says what is there and
/// nothing of when, so that the same images have the same one.
[[nodiscard]] base::Result<BundleManifest> describe(const ImageStock& stock, const std::string& bundle,
                                                    const std::string& platform);

} // namespace gpuhost::images
