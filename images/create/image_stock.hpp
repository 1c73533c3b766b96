// SPDX-License-Identifier: Apache-2.0
// Layouts and archives that a specification names: which images they have, and where their blobs are.
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
    std::vector<Referrer> referrers;   ///< that say to be about another image, wherever they are listed
    std::vector<std::string> left_out; ///< images that are not among them: what the index calls them
    std::multimap<std::string, std::size_t>
        by_name; ///< in `images`: names as they stand there and in full, digests

    /// A signature, or a list of them.
    [[nodiscard]] bool is_about_another(const Descriptor& image) const;
};

/// `index` is what a layout or an archive says of itself; `blobs` must outlive the stock.
[[nodiscard]] base::Result<ImageStock> make_stock(Document index, const BlobSource& blobs);

/// Opens each layout and reads each archive once.
class ImageStocks {
  public:
    /// What `sources` gets must outlive the stocks. Relative paths start at `directory`; archives are unpacked on the file
    /// system of `scratch`.
    ImageStocks(std::vector<std::unique_ptr<BlobSource>>& sources, std::string directory, std::string scratch)
        : sources_(sources), directory_(std::move(directory)), scratch_(std::move(scratch)) {}

    [[nodiscard]] base::Result<const ImageStock*> of(const ImageSource& source);

  private:
    [[nodiscard]] base::Result<ImageStock> open_layout(const std::string& path);
    [[nodiscard]] base::Result<ImageStock> read_archive(const std::string& what, const std::string& path);

    std::vector<std::unique_ptr<BlobSource>>& sources_;
    std::string directory_;
    std::string scratch_;
    BlobSink* spool_ = nullptr; ///< what all archives are unpacked to
    std::map<std::pair<std::string, std::string>, ImageStock> stocks_;
};

/// By its Reference=; else by its name, if there are several.
[[nodiscard]] base::Result<Descriptor> choose_image(const ImageStock& stock, const ImageSource& source);

/// Calls the one image of `stock` by that full name alone.
[[nodiscard]] base::Result<void> name_only_image(ImageStock& stock, const std::string& name);

[[nodiscard]] base::Result<Document> read_document(const BlobSource& blobs, const Descriptor& descriptor);

/// "archive 'app.tar'", for messages.
[[nodiscard]] std::string title(const ImageSource& source);

} // namespace gpuhost::images
