// SPDX-License-Identifier: Apache-2.0
// The layouts and archives that a specification names: their images, and the sources of their blobs.
#pragma once

#include "images/bundle/oci.hpp"
#include "images/bundle/spec.hpp"
#include "images/store/blob_source.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpuhost::images {

struct Referrer {
    Descriptor descriptor;
    Document document; ///< has a subject
};

struct ImageStock {
    std::vector<Descriptor> images;
    const BlobSource* blobs = nullptr;
    std::vector<Referrer> referrers;   ///< images about another one, wherever they are listed
    std::vector<std::string> left_out; ///< names of omitted images, as in the index
    /// Name as written, full name or digest → position in `images`.
    std::multimap<std::string, std::size_t> by_name;

    /// Reports whether the image is about another one, as a signature is, or is a list of such images.
    [[nodiscard]] bool is_about_another(const Descriptor& image) const;
};

/// Reads the images of `index`, the index of a layout or an archive. `blobs` must outlive the stock.
[[nodiscard]] base::Result<ImageStock> make_stock(Document index, const BlobSource& blobs);

/// Opens each layout and reads each archive once.
class ImageStocks {
  public:
    /// `sources` receives the blob sources and must outlive the object. Relative paths start at `directory`;
    /// archives are unpacked on the file system of `scratch`.
    ImageStocks(std::vector<std::unique_ptr<BlobSource>>& sources, std::string directory, std::string scratch)
        : sources_(sources), directory_(std::move(directory)), scratch_(std::move(scratch)) {}

    [[nodiscard]] base::Result<const ImageStock*> of(const ImageSource& source);

  private:
    [[nodiscard]] base::Result<ImageStock> open_layout(const std::string& path);
    [[nodiscard]] base::Result<ImageStock> read_archive(const std::string& what, const std::string& path);

    std::vector<std::unique_ptr<BlobSource>>& sources_;
    std::string directory_;
    std::string scratch_;
    BlobSink* spool_ = nullptr; ///< contains the content of all archives
    std::map<std::pair<std::string, std::string>, ImageStock> stocks_;
};

/// Selects an image by Reference=, else by name. Without Reference=, an only image is selected whatever its
/// name.
[[nodiscard]] base::Result<Descriptor> choose_image(const ImageStock& stock, const ImageSource& source);

/// Replaces the names of the only image by this full name.
[[nodiscard]] base::Result<void> name_only_image(ImageStock& stock, const std::string& name);

[[nodiscard]] base::Result<Document> read_document(const BlobSource& blobs, const Descriptor& descriptor);

/// Returns "archive 'app.tar'", for messages.
[[nodiscard]] std::string title(const ImageSource& source);

} // namespace gpuhost::images
