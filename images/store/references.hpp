// SPDX-License-Identifier: Apache-2.0
// Resolves image names on this host: registry, repository and tag → digest, over all bundles.
//
// The result depends on the catalogue's records alone, so no second file can be stale. If two bundles claim
// one name, a signed bundle wins over an unsigned one. Ties go to the later date, then to the higher
// generation, then to the last bundle by name. A tag therefore moves forward with a newer bundle. It moves
// back only if that bundle is removed, an older one is allowed, or the next generation drops the tag.
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

/// The part of a catalogue record that concerns names.
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
    std::string hex; ///< digest of its index or manifest
    std::string_view media_type;
    std::uint64_t size = 0;
    const std::vector<std::string>* platforms = nullptr;
    std::string_view bundle;
    std::uint64_t generation = 0;
};

/// Image names of all bundles. Returned views are valid as long as the object. 100,000 names of 60 characters
/// need about 13 MiB.
class References {
  public:
    References() = default;
    explicit References(const std::vector<BundleClaims>& bundles);
    /// Loads the catalogue. Lists a bundle with an unreadable record in problems() and keeps all others.
    /// Fails only if the catalogue itself cannot be listed.
    [[nodiscard]] static base::Result<References> load(const base::Root& root);

    /// Returns the claim that wins the name; nothing for a reference by digest.
    [[nodiscard]] std::optional<Claim> find(const Reference& reference) const;
    /// Returns all claims to the name, the winner first. For a reference by digest: all names in that
    /// repository with that digest.
    [[nodiscard]] std::vector<Claim> claims(const Reference& reference) const;
    /// Returns each name once, with the winning claim, sorted.
    [[nodiscard]] std::vector<Claim> all() const;
    [[nodiscard]] std::size_t size() const { return names_; }

    /// `repository` includes the registry.
    [[nodiscard]] bool has_repository(std::string_view repository) const;
    /// Returns at most `most` tags after `last`, sorted.
    [[nodiscard]] std::vector<std::string_view> tags(std::string_view repository, std::string_view last,
                                                     std::size_t most) const;
    [[nodiscard]] const std::vector<std::string>& registries() const { return registries_; }

    /// Returns the images whose subject is the document with that digest, each once, ordered by digest.
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
    struct Row {
        std::array<std::uint8_t, 32> digest{};
        std::uint64_t size = 0;
        /// Offset in text_ of the repository with its registry. The tag follows without a separator.
        std::uint32_t at = 0;
        std::uint16_t repository_length = 0;
        std::uint16_t tag_length = 0;
        std::uint32_t media_type = 0;
        std::uint32_t platforms = 0;
        std::uint32_t bundle = 0;
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

    std::string text_;
    std::vector<Row> rows_; ///< by repository, tag, and precedence
    std::size_t names_ = 0;
    std::vector<Bundle> bundles_;
    std::vector<std::string> media_types_;
    std::vector<std::vector<std::string>> platforms_;
    std::vector<std::string> registries_; ///< sorted
    std::vector<BundleImage> referrers_;  ///< by subject and digest
    std::vector<base::Error> problems_;
};

} // namespace gpuhost::images
