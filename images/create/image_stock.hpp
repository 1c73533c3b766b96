// SPDX-License-Identifier: Apache-2.0
// Reads the image layouts and archives that a specification names: their images, and the sources of their
// blobs.
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

/// An image that refers to another one as its subject, such as a signature.
struct Referrer {
    Descriptor descriptor;
    Document document; ///< has `subject`
};

/// The images of one layout or archive.
struct ImageStock {
    std::vector<Descriptor> images;
    const BlobSource* blobs = nullptr;
    std::vector<Referrer> referrers;   ///< all images with a subject, also those in lists of referrers
    std::vector<std::string> left_out; ///< Document::left_out of the index
    /// Name in the index, full name or "sha256:…" → position in `images`. An image may have several entries.
    std::multimap<std::string, std::size_t> by_name;
    std::multimap<std::string, std::size_t> by_subject; ///< digest of a subject → position in `referrers`

    /// Reports whether the image has a subject, as a signature has, or is a list of such images.
    [[nodiscard]] bool is_about_another(const Descriptor& image) const;
};

/// Makes a stock from `index`, the index of a layout or archive, whose blobs are in `blobs`. `blobs` must
/// outlive the stock.
[[nodiscard]] base::Result<ImageStock> make_stock(Document index, const BlobSource& blobs);

/// Returns the stock of each layout and archive, and reads each only once.
class ImageStocks {
  public:
    /// The object adds the sources of blobs to `sources`, which must outlive it. Relative paths begin at
    /// `directory`. Archives are unpacked into a temporary file in `scratch`.
    ImageStocks(std::vector<std::unique_ptr<BlobSource>>& sources, std::string directory, std::string scratch)
        : sources_(sources), directory_(std::move(directory)), scratch_(std::move(scratch)) {}

    /// Returns the stock of the source's layout or archive. It is valid as long as the object.
    [[nodiscard]] base::Result<const ImageStock*> of(const ImageSource& source);

  private:
    [[nodiscard]] base::Result<ImageStock> open_layout(const std::string& path);
    [[nodiscard]] base::Result<ImageStock> read_archive(const std::string& what, const std::string& path);

    std::vector<std::unique_ptr<BlobSource>>& sources_;
    std::string directory_;
    std::string scratch_;
    /// The temporary file with the content of all archives; in `sources_`; null until needed.
    BlobSink* spool_ = nullptr;
    std::map<std::pair<std::string, std::string>, ImageStock> stocks_;
};

/// Selects the image of a section [Image NAME]: by Reference=, else by NAME. Without Reference=, the only
/// image of the stock is selected if none has that name. Fails with NotFound or InvalidArgument if no image,
/// or several, match.
[[nodiscard]] base::Result<Descriptor> choose_image(const ImageStock& stock, const ImageSource& source);

/// Replaces the names of the stock's only image by the full name `name`. Images for which is_about_another()
/// is true do not count. Fails with InvalidArgument if the stock has no other image or several.
[[nodiscard]] base::Result<void> name_only_image(ImageStock& stock, const std::string& name);

/// Reads an index or manifest and compares it with the digest in its descriptor.
[[nodiscard]] base::Result<Document> read_document(const BlobSource& blobs, const Descriptor& descriptor);

/// Returns the source as text for messages: "archive 'app.tar'".
[[nodiscard]] std::string title(const ImageSource& source);

} // namespace gpuhost::images
