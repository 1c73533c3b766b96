// SPDX-License-Identifier: Apache-2.0
// Finds the members of each image and artifact of a bundle. Their documents name them; the manifest does not.
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
    /// Reads a whole member that is a document.
    using ReadDocument = std::function<base::Result<std::string>(const Member&)>;

    /// `manifest` must outlive it.
    BundleItems(const BundleManifest& manifest, ReadDocument read);

    /// Returns the document itself and everything in the bundle that it refers to, each once.
    [[nodiscard]] base::Result<std::vector<const Member*>> members_of(const BundleImage& image) const;
    [[nodiscard]] base::Result<std::vector<const Member*>> members_of(const BundleArtifact& artifact) const;

    [[nodiscard]] const Member* find(std::string_view hex) const;

  private:
    [[nodiscard]] base::Result<std::vector<const Member*>> walk(const std::string& hex,
                                                                const std::string& media_type) const;

    std::map<std::string_view, const Member*> members_; ///< blobs by digest
    ReadDocument read_;
};

/// Returns a function that reads documents directly from a bundle's files, without the bytes between them. It
/// fails with Unsupported for a pipe, and with NotFound for a member that the file leaves out. `bundle` must
/// outlive the function and stay at the position after open().
[[nodiscard]] BundleItems::ReadDocument documents_of(const BundleReader& bundle);

} // namespace gpuhost::images
