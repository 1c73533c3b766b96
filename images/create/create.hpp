// SPDX-License-Identifier: Apache-2.0
// Collects the content of a bundle: makes the manifest from a specification, and finds the content of each
// member. Used by 'gpuhostctl bundle create', on a machine without gpuhostd.
#pragma once

#include "images/bundle/manifest.hpp"
#include "images/bundle/spec.hpp"
#include "images/bundle/writer.hpp"
#include "images/create/image_stock.hpp"
#include "images/store/blob_source.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace gpuhost::images {

/// The content of a member: in a layout or archive, in a file on this machine, or a text that was generated.
using Content = std::variant<const BlobSource*, std::filesystem::path, std::string>;

/// The manifest of a new bundle, and where the content of its members is.
struct Contents {
    BundleManifest manifest;
    std::vector<std::unique_ptr<BlobSource>> sources; ///< the layouts and archives
    std::map<std::string, Content> by_digest;         ///< the content of each member

    /// Opens the content of a member of `manifest`, for write_bundle().
    [[nodiscard]] base::Result<MemberBytes> open(const Member& member) const;
};

struct CollectOptions {
    std::string directory = "."; ///< directory at which relative paths in the specification begin
    std::string scratch = ".";   ///< directory with space for unpacked archives
    std::uint64_t created = 0;   ///< date of the bundle, seconds since 1970
    bool dry_run = false;        ///< true: does not sign packages, so that gpg asks for no passphrase
};

/// Collects the content of the bundle that `spec` describes. Reads and hashes all files of its artifacts.
/// Errors have file and line of the section.
[[nodiscard]] base::Result<Contents> collect(const BundleSpec& spec, const CollectOptions& options);

/// Makes a manifest of all images in `stock`, including those without a name, for hosts of one platform.
/// `bundle` is the name of the bundle. The manifest has no date, so the same images always have the same
/// manifest. Used for imports of unsigned images.
[[nodiscard]] base::Result<BundleManifest> describe(const ImageStock& stock, const std::string& bundle,
                                                    const std::string& platform);

} // namespace gpuhost::images
