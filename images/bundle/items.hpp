// SPDX-License-Identifier: Apache-2.0
// Which members each image and artifact of a bundle is made of. The manifest does not say it, their documents do.
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
    /// All of a member that is a document.
    using ReadDocument = std::function<base::Result<std::string>(const Member&)>;

    /// `manifest` must outlive it.
    BundleItems(const BundleManifest& manifest, ReadDocument read);

    /// The document itself, and all that it leads to and the bundle knows of, each once.
    [[nodiscard]] base::Result<std::vector<const Member*>> members_of(const BundleImage& image) const;
    [[nodiscard]] base::Result<std::vector<const Member*>> members_of(const BundleArtifact& artifact) const;

    [[nodiscard]] const Member* find(std::string_view hex) const;

  private:
    [[nodiscard]] base::Result<std::vector<const Member*>> walk(const std::string& hex,
                                                                const std::string& media_type) const;

    std::map<std::string_view, const Member*> members_; ///< blobs by digest
    ReadDocument read_;
};

/// Reads documents where they stand in a bundle's files, and no byte between them; a pipe is Unsupported, and what the
/// file leaves out NotFound. `bundle` must outlive it, and stay where open() left it.
[[nodiscard]] BundleItems::ReadDocument documents_of(const BundleReader& bundle);

} // namespace gpuhost::images
