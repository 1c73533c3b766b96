// SPDX-License-Identifier: Apache-2.0
// Resolves image names on this host: registry, repository and tag → digest, over all bundles.
//
// The table of names is computed from the catalogue at each load; it is not stored. Two bundles may contain
// the same image name ("claim" it). Then a signed bundle precedes an unsigned one. If both are signed or
// unsigned, the later date decides, then the higher generation, then the greater name. An import of a newer
// bundle can therefore change the image of a tag. The tag refers to an older image again only if the newer
// bundle is removed, a downgrade is imported, or a later generation lacks it.
#pragma once

#include "daemon/base/root.hpp"
#include "images/bundle/reference.hpp"
#include "images/store/catalogue.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// The part of a bundle's entry in the catalogue from which names are resolved.
struct BundleClaims {
    std::string bundle;
    std::uint64_t generation = 0;
    std::uint64_t created = 0; ///< seconds since 1970, as in the manifest
    std::vector<BundleImage> images;
    bool is_signed = true;
};

/// One bundle's claim to one name.
struct Claim {
    std::string_view repository; ///< including the registry: "docker.io/library/busybox"
    std::string_view tag;
    std::string hex; ///< SHA-256 of the image's index or manifest
    std::string_view media_type;
    std::uint64_t size = 0;
    const std::vector<std::string>* platforms = nullptr;
    std::string_view bundle;
    std::uint64_t generation = 0;

    [[nodiscard]] std::string name() const { return std::string(repository) + ":" + std::string(tag); }
};

/// The image names of all bundles on this host. Returned views and pointers are valid as long as the object.
/// 100,000 names of 60 characters need about 13 MiB.
class References {
  public:
    References() = default;
    explicit References(const std::vector<BundleClaims>& bundles);
    /// Loads the names from the catalogue. A bundle with an unreadable entry is left out and reported in
    /// problems(). Fails only if the catalogue's directory cannot be listed.
    [[nodiscard]] static base::Result<References> load(const base::Root& root);

    /// Returns the claim of the bundle that precedes all others with this name. Returns nothing if no bundle
    /// has the name, or if the reference is by digest.
    [[nodiscard]] std::optional<Claim> find(const Reference& reference) const;
    /// Returns the claims of all bundles to the name, in order of precedence. For a reference by digest,
    /// returns the claims of all tags in that repository to that digest.
    [[nodiscard]] std::vector<Claim> claims(const Reference& reference) const;
    /// Returns the result of find() for each name, sorted by name.
    [[nodiscard]] std::vector<Claim> all() const;
    [[nodiscard]] std::size_t size() const { return names_; } ///< number of names

    /// Reports whether an image has this repository, which includes the registry.
    [[nodiscard]] bool has_repository(std::string_view repository) const;
    /// Returns at most `most` tags that sort after `last`, sorted.
    [[nodiscard]] std::vector<std::string_view> tags(std::string_view repository, std::string_view last,
                                                     std::size_t most) const;
    [[nodiscard]] const std::vector<std::string>& registries() const { return registries_; }

    /// Returns the images, such as signatures, that refer to the index or manifest with that SHA-256 as their
    /// subject. Each is returned once, ordered by digest.
    [[nodiscard]] std::vector<const BundleImage*> referrers(std::string_view subject_hex) const;

    /// Returns the date of the newest bundle in seconds since 1970; 0 if there is none.
    [[nodiscard]] std::uint64_t newest() const;
    [[nodiscard]] std::size_t bundles() const { return bundles_.size(); }
    [[nodiscard]] const std::vector<base::Error>& problems() const { return problems_; }

  private:
    struct Bundle {
        std::string name;
        std::uint64_t generation = 0;
        std::uint64_t created = 0;
        bool is_signed = true;
    };
    /// One bundle's claim to one name.
    struct Row {
        std::array<std::uint8_t, 32> digest{};
        std::uint64_t size = 0;
        /// Offset in text_ of the repository, which includes the registry. The tag follows it without a
        /// separator.
        std::uint32_t at = 0;
        std::uint16_t repository_length = 0;
        std::uint16_t tag_length = 0;
        std::uint32_t media_type = 0; ///< index in media_types_
        std::uint32_t platforms = 0;  ///< index in platforms_
        std::uint32_t bundle = 0;     ///< index in bundles_
    };
    class Interner;

    void add(const BundleClaims& bundle, Interner& interner);
    [[nodiscard]] base::Result<void> add(const BundleImage& image, Interner& interner);
    void finish();
    [[nodiscard]] std::string_view repository_of(const Row& row) const;
    [[nodiscard]] std::string_view tag_of(const Row& row) const;
    [[nodiscard]] bool same_name(const Row& a, const Row& b) const;
    [[nodiscard]] Claim claim_of(const Row& row) const;
    [[nodiscard]] std::vector<Row>::const_iterator seek(std::string_view repository,
                                                        std::string_view tag) const;

    std::string text_;      ///< the names of all rows
    std::vector<Row> rows_; ///< sorted by repository, tag, and precedence
    std::size_t names_ = 0; ///< number of different names
    std::vector<Bundle> bundles_;
    std::vector<std::string> media_types_;
    std::vector<std::vector<std::string>> platforms_;
    std::vector<std::string> registries_; ///< sorted
    std::vector<BundleImage> referrers_;  ///< images with a subject, sorted by subject and digest
    std::vector<base::Error> problems_;
};

} // namespace gpuhost::images
