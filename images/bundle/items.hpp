// SPDX-License-Identifier: Apache-2.0
// Finds the members that belong to an image or artifact of a bundle. The bundle's manifest does not list
// them: their digests are in the OCI index and manifests of the image, which are members too.
#pragma once

#include "images/bundle/reader.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

class BundleItems {
  public:
    /// Returns the content of a member that is an OCI index or manifest. BundleItems compares the content
    /// with the digest of the member.
    using ReadDocument = std::function<base::Result<std::string>(const Member&)>;

    /// `manifest` must outlive the object and the pointers that it returns.
    BundleItems(const BundleManifest& manifest, ReadDocument read);

    /// Returns the OCI index or manifest of the image or artifact, and the blobs that it refers to, directly
    /// or not. Each is returned once. Blobs that the bundle does not list are skipped: they are of another
    /// platform, or must not be redistributed. Fails with BadContent for a damaged index or manifest.
    [[nodiscard]] base::Result<std::vector<const Member*>> members_of(const BundleImage& image) const;
    [[nodiscard]] base::Result<std::vector<const Member*>> members_of(const BundleArtifact& artifact) const;

    /// Returns the blob with this SHA-256; null if the bundle does not list it.
    [[nodiscard]] const Member* find(std::string_view hex) const;

  private:
    [[nodiscard]] base::Result<std::vector<const Member*>> walk(const std::string& hex,
                                                                const std::string& media_type) const;

    std::map<std::string_view, const Member*> members_; ///< blobs by digest
    ReadDocument read_;
};

/// Returns a function that seeks to a document in the bundle's files and reads only that. The function fails
/// with Unsupported if the bundle is read from a pipe. It fails with NotFound for an absent member of a
/// delta. `bundle` must outlive the function. Call the function only before the first bundle.next(), because
/// it seeks only forward from the position of `bundle`.
[[nodiscard]] BundleItems::ReadDocument documents_of(const BundleReader& bundle);

} // namespace gpuhost::images
