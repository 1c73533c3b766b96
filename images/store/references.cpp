// SPDX-License-Identifier: Apache-2.0
#include "images/store/references.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace gpuhost::images {

using base::Result;

namespace {

Result<BundleClaims> claims_of(const Catalogue& catalogue, const std::string& name) {
    GPUHOST_TRY(record, catalogue.record(name));
    GPUHOST_TRY(images, catalogue.images(name));
    return BundleClaims{name, record.generation, record.created, std::move(images), record.is_signed()};
}

std::string with_registry(const Reference& reference) {
    return reference.registry + "/" + reference.repository;
}

} // namespace

/// Assigns numbers to media types and lists of platforms, so that rows store numbers. There are few different
/// ones.
class References::Interner {
  public:
    explicit Interner(References& references) : references_(references) {}

    std::uint32_t media_type(const std::string& type) {
        return number(media_types_, references_.media_types_, type);
    }
    std::uint32_t platforms(const std::vector<std::string>& platforms) {
        return number(platforms_, references_.platforms_, platforms);
    }

  private:
    template <class T>
    static std::uint32_t number(std::map<T, std::uint32_t>& known, std::vector<T>& values, const T& value) {
        const auto [found, is_new] = known.try_emplace(value, static_cast<std::uint32_t>(values.size()));
        if (is_new)
            values.push_back(value);
        return found->second;
    }

    References& references_;
    std::map<std::string, std::uint32_t> media_types_;
    std::map<std::vector<std::string>, std::uint32_t> platforms_;
};

References::References(const std::vector<BundleClaims>& bundles) {
    Interner interner(*this);
    for (const BundleClaims& bundle : bundles)
        add(bundle, interner);
    finish();
}

Result<References> References::load(const base::Root& root) {
    const Catalogue catalogue(root);
    GPUHOST_TRY(names, catalogue.names());
    References references;
    Interner interner(references);
    for (const std::string& name : names) {
        // One bundle at a time, so that memory never holds the images of two bundles.
        const auto claims = claims_of(catalogue, name);
        if (claims)
            references.add(*claims, interner);
        // if it does not exist, it was removed meanwhile
        else if (root.exists(std::string(catalogue_directory) + "/" + name))
            references.problems_.push_back(claims.error().context("bundle '" + name + "'"));
    }
    references.finish();
    return references;
}

void References::add(const BundleClaims& bundle, Interner& interner) {
    bundles_.push_back({bundle.bundle, bundle.generation, bundle.created, bundle.is_signed});
    for (const BundleImage& image : bundle.images) {
        if (!image.subject.empty())
            referrers_.push_back(image);
        if (image.name.empty())
            continue;
        if (const auto added = add(image, interner); !added)
            problems_.push_back(added.error().context("bundle '" + bundle.bundle + "'"));
    }
}

Result<void> References::add(const BundleImage& image, Interner& interner) {
    GPUHOST_TRY(reference, parse_reference(image.name));
    const std::string repository = with_registry(reference);
    Row row;
    (void)base::from_hex(image.hex, row.digest); // valid, as all digests of the catalogue
    row.size = image.size;
    row.at = static_cast<std::uint32_t>(text_.size());
    row.repository_length = static_cast<std::uint16_t>(repository.size());
    row.tag_length = static_cast<std::uint16_t>(reference.tag.size());
    row.media_type = interner.media_type(image.media_type);
    row.platforms = interner.platforms(image.platforms);
    row.bundle = static_cast<std::uint32_t>(bundles_.size() - 1);
    text_ += repository + reference.tag;
    rows_.push_back(row);
    const auto place = std::lower_bound(registries_.begin(), registries_.end(), reference.registry);
    if (place == registries_.end() || *place != reference.registry)
        registries_.insert(place, reference.registry);
    return {};
}

void References::finish() {
    const auto precedence = [this](const Row& row) {
        const Bundle& bundle = bundles_[row.bundle];
        return std::tie(bundle.is_signed, bundle.created, bundle.generation, bundle.name);
    };
    std::sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
        return std::tuple(repository_of(a), tag_of(a), precedence(b)) <
               std::tuple(repository_of(b), tag_of(b), precedence(a));
    });
    for (std::size_t i = 0; i < rows_.size(); ++i)
        names_ += i == 0 || !same_name(rows_[i - 1], rows_[i]);
    const auto key = [](const BundleImage& image) { return std::tie(image.subject, image.hex); };
    std::sort(referrers_.begin(), referrers_.end(),
              [&](const BundleImage& a, const BundleImage& b) { return key(a) < key(b); });
    referrers_.erase(
        std::unique(referrers_.begin(), referrers_.end(),
                    [&](const BundleImage& a, const BundleImage& b) { return key(a) == key(b); }),
        referrers_.end());
    text_.shrink_to_fit();
    rows_.shrink_to_fit();
}

std::string_view References::repository_of(const Row& row) const {
    return std::string_view(text_).substr(row.at, row.repository_length);
}

std::string_view References::tag_of(const Row& row) const {
    return std::string_view(text_).substr(row.at + row.repository_length, row.tag_length);
}

bool References::same_name(const Row& a, const Row& b) const {
    return repository_of(a) == repository_of(b) && tag_of(a) == tag_of(b);
}

Claim References::claim_of(const Row& row) const {
    const Bundle& bundle = bundles_[row.bundle];
    return {repository_of(row),
            tag_of(row),
            base::to_hex(row.digest),
            media_types_[row.media_type],
            row.size,
            &platforms_[row.platforms],
            bundle.name,
            bundle.generation};
}

/// Returns the first row with this repository and tag, or else the first row after them.
std::vector<References::Row>::const_iterator References::seek(std::string_view repository,
                                                              std::string_view tag) const {
    return std::lower_bound(rows_.begin(), rows_.end(), std::tuple(repository, tag),
                            [this](const Row& row, const auto& name) {
                                return std::tuple(repository_of(row), tag_of(row)) < name;
                            });
}

std::optional<Claim> References::find(const Reference& reference) const {
    const std::string repository = with_registry(reference);
    const auto row = seek(repository, reference.tag);
    if (row == rows_.end() || repository_of(*row) != repository || tag_of(*row) != reference.tag)
        return std::nullopt;
    return claim_of(*row);
}

std::vector<Claim> References::claims(const Reference& reference) const {
    const std::string repository = with_registry(reference);
    std::vector<Claim> claims;
    for (auto row = seek(repository, reference.tag); row != rows_.end() && repository_of(*row) == repository;
         ++row)
        if (Claim claim = claim_of(*row);
            reference.digest.empty() ? claim.tag == reference.tag : "sha256:" + claim.hex == reference.digest)
            claims.push_back(std::move(claim));
        else if (reference.digest.empty())
            break;
    return claims;
}

std::vector<Claim> References::all() const {
    std::vector<Claim> all;
    all.reserve(names_);
    for (std::size_t i = 0; i < rows_.size(); ++i)
        if (i == 0 || !same_name(rows_[i - 1], rows_[i]))
            all.push_back(claim_of(rows_[i]));
    return all;
}

bool References::has_repository(std::string_view repository) const {
    const auto row = seek(repository, {});
    return row != rows_.end() && repository_of(*row) == repository;
}

std::vector<std::string_view> References::tags(std::string_view repository, std::string_view last,
                                               std::size_t most) const {
    std::vector<std::string_view> tags;
    for (auto row = seek(repository, last);
         row != rows_.end() && repository_of(*row) == repository && tags.size() < most; ++row)
        if (tag_of(*row) != last && (tags.empty() || tags.back() != tag_of(*row)))
            tags.push_back(tag_of(*row));
    return tags;
}

std::uint64_t References::newest() const {
    std::uint64_t newest = 0;
    for (const Bundle& bundle : bundles_)
        newest = std::max(newest, bundle.created);
    return newest;
}

std::vector<const BundleImage*> References::referrers(std::string_view subject_hex) const {
    std::vector<const BundleImage*> found;
    for (auto image = std::lower_bound(
             referrers_.begin(), referrers_.end(), subject_hex,
             [](const BundleImage&one, std::string_view subject) { return one.subject < subject; });
         image != referrers_.end() && image->subject == subject_hex; ++image)
        found.push_back(&*image);
    return found;
}

} // namespace gpuhost::images
