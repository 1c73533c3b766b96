// SPDX-License-Identifier: Apache-2.0
#include "images/create/image_stock.hpp"

#include "daemon/base/parse.hpp"
#include "images/bundle/reference.hpp"
#include "images/foreign/foreign.hpp"

#include <algorithm>
#include <cerrno>
#include <set>

#include <fcntl.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

/// Adds to `found` the images among `descriptors` that have a subject. Skips those whose document is missing.
Result<void> find_with_subject(const BlobSource& blobs, const std::vector<Descriptor>& descriptors,
                               std::vector<Referrer>& found) {
    for (const Descriptor& descriptor : descriptors) {
        if (!is_document(descriptor.media_type) || !blobs.open(descriptor.hex))
            continue;
        auto document = read_document(blobs, descriptor);
        if (!document)
            return base::fail(
                document.error().context("image " + (descriptor.names.empty() ? "sha256:" + descriptor.hex
                                                                              : descriptor.names.front())));
        if (document->subject)
            found.push_back({descriptor, *std::move(document)});
    }
    return {};
}

/// Reports whether an index lists the referrers of an image, such as its signatures. It then has the tag
/// "sha256-<hex>", with the image's digest. Registries without the referrers API use such tags (OCI
/// distribution 1.1, "referrers tag schema").
bool is_list_of_referrers(const Descriptor& descriptor) {
    return std::any_of(descriptor.names.begin(), descriptor.names.end(), [](const std::string& name) {
        return base::starts_with(name, "sha256-") && content::is_sha256(name.substr(7));
    });
}

Result<std::vector<Referrer>> find_referrers(const BlobSource& blobs, const std::vector<Descriptor>& images) {
    std::vector<Referrer> found;
    GPUHOST_CHECK(find_with_subject(blobs, images, found));
    for (const Descriptor& descriptor : images) {
        if (!is_list_of_referrers(descriptor) || !is_document(descriptor.media_type) ||
            !blobs.open(descriptor.hex))
            continue;
        GPUHOST_TRY(list, read_document(blobs, descriptor));
        GPUHOST_CHECK(find_with_subject(blobs, list.content, found));
    }
    return found;
}

/// Returns the names by which Reference= may select an image, each with the image's position: the name in the
/// index, the full name, the digest.
std::multimap<std::string, std::size_t> names_of(const std::vector<Descriptor>& images) {
    std::multimap<std::string, std::size_t> names;
    for (std::size_t i = 0; i < images.size(); ++i) {
        names.emplace("sha256:" + images[i].hex, i);
        if (std::string full = own_name(images[i]); !full.empty())
            names.emplace(std::move(full), i);
        for (const std::string& name : images[i].names)
            names.emplace(name, i);
    }
    return names;
}

/// Returns the images that `reference` selects: digest → its first position in the index.
std::map<std::string, std::size_t> called(const ImageStock& stock, const std::string& reference) {
    std::map<std::string, std::size_t> found;
    const auto full = parse_reference(reference);
    for (const std::string& name : {reference, full ? full->text() : reference})
        for (auto [at, end] = stock.by_name.equal_range(name); at != end; ++at) {
            const auto image = found.emplace(stock.images[at->second].hex, at->second).first;
            image->second = std::min(image->second, at->second);
        }
    return found;
}

/// Returns the images for which `matches` returns true. Several with the same digest count as one.
template <class Matches>
std::vector<Descriptor> distinct(const std::vector<Descriptor>& images, Matches matches) {
    std::vector<Descriptor> found;
    std::set<std::string> seen;
    for (const Descriptor& image : images)
        if (matches(image) && seen.insert(image.hex).second)
            found.push_back(image);
    return found;
}

} // namespace

Result<ImageStock> make_stock(Document index, const BlobSource& blobs) {
    ImageStock stock{std::move(index.content), &blobs, {}, std::move(index.left_out), {}, {}};
    stock.by_name = names_of(stock.images);
    GPUHOST_TRY(referrers, find_referrers(blobs, stock.images));
    stock.referrers = std::move(referrers);
    for (std::size_t i = 0; i < stock.referrers.size(); ++i)
        stock.by_subject.emplace(stock.referrers[i].document.subject->hex, i);
    return stock;
}

Result<Descriptor> choose_image(const ImageStock& stock, const ImageSource& source) {
    const std::vector<Descriptor>& images = stock.images;
    const std::string& reference = source.reference.empty() ? source.name : source.reference;
    const auto found = called(stock, reference);
    if (found.size() == 1)
        return images[found.begin()->second];
    if (found.size() > 1)
        return base::fail(Errc::InvalidArgument,
                          "has " + std::to_string(found.size()) + " images '" + reference + "'",
                          "Select one with Reference=, by its full name or its digest.");
    if (!source.reference.empty())
        return base::fail(Errc::NotFound, "has no image '" + reference + "'");
    const auto all = distinct(images, [](const Descriptor&) { return true; });
    if (all.size() == 1)
        return all.front();
    return base::fail(Errc::InvalidArgument,
                      "has " + std::to_string(all.size()) + " images, but not '" + reference + "'",
                      "Select one with Reference=, by its name there or its digest.");
}

Result<void> name_only_image(ImageStock& stock, const std::string& name) {
    auto images = distinct(stock.images, [&](const Descriptor& image) {
        return is_document(image.media_type) && !stock.is_about_another(image);
    });
    if (images.size() != 1)
        return base::fail(
            Errc::InvalidArgument,
            "has " + std::to_string(images.size()) + " images, so the name is ambiguous: '" + name + "'",
            "Leave out --image-name, or make a bundle that names each image: gpuhostctl bundle create.");
    images.front().names = {name};
    stock.images = std::move(images);
    stock.by_name = names_of(stock.images);
    return {};
}

bool ImageStock::is_about_another(const Descriptor& image) const {
    return is_list_of_referrers(image) ||
           std::any_of(referrers.begin(), referrers.end(),
                       [&](const Referrer& referrer) { return referrer.descriptor.hex == image.hex; });
}

Result<ImageStock> ImageStocks::open_layout(const std::string& path) {
    GPUHOST_TRY(root, base::Root::open(path));
    GPUHOST_TRY(index, read_layout_index(root));
    sources_.push_back(std::make_unique<LayoutDirectory>(std::move(root)));
    return make_stock(std::move(index), *sources_.back());
}

Result<ImageStock> ImageStocks::read_archive(const std::string& what, const std::string& path) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd)
        return base::fail_errno(what, errno);
    if (spool_ == nullptr) {
        GPUHOST_TRY(spool, Spool::create(scratch_));
        auto owned = std::make_unique<Spool>(std::move(spool));
        spool_ = owned.get();
        sources_.push_back(std::move(owned));
    }
    GPUHOST_TRY(reader, content::ArchiveReader::open(fd.get(), content::ArchiveFormat::Tar, what,
                                                     image_archive_limits));
    GPUHOST_TRY(index, read_image_archive(std::move(reader), what, *spool_));
    auto stock = make_stock(std::move(index), *spool_);
    return stock ? std::move(stock) : base::fail(stock.error().context(what));
}

Result<const ImageStock*> ImageStocks::of(const ImageSource& source) {
    const auto key = std::pair(source.layout, source.archive);
    if (const auto known = stocks_.find(key); known != stocks_.end())
        return &known->second;
    const std::string path = source.path().front() == '/' ? source.path() : directory_ + "/" + source.path();
    auto stock = source.archive.empty() ? open_layout(path) : read_archive(title(source), path);
    if (!stock) // errors of read_archive() have the title already
        return base::fail(source.archive.empty() ? stock.error().context(title(source)) : stock.error());
    return &stocks_.emplace(key, *std::move(stock)).first->second;
}

Result<Document> read_document(const BlobSource& blobs, const Descriptor& descriptor) {
    GPUHOST_TRY(text, read_blob(blobs, descriptor.hex, document_limit));
    return parse_document(text, descriptor.media_type, "sha256:" + descriptor.hex);
}

std::string title(const ImageSource& source) {
    return (source.archive.empty() ? "layout '" : "archive '") + source.path() + "'";
}

} // namespace gpuhost::images
