// SPDX-License-Identifier: Apache-2.0
// Which name leads to which image on this host: registry, repository and tag → digest, over all bundles.
//
// A function of the catalogue's records and nothing else, so that no second file can be stale. Where two bundles claim
// one name, one that is signed has it before one that is not, then the one that was signed later has it, then the one
// with the higher generation, then the one that is last by name: a tag moves on with a newer bundle, and back only when
// that is removed, an older one is let in, or its next generation gives the tag up.
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

/// What a record of the catalogue says, as far as names are concerned.
struct BundleClaims {
    std::string bundle;
    std::uint64_t generation = 0;
    std::uint64_t created = 0; ///< seconds since 1970, signed
    std::vector<BundleImage> images;
    bool is_signed = true;
};

/// One bundle's claim to one name.
struct Claim {
    std::string_view repository; ///< with its registry: "docker.io/library/busybox"
    std::string_view tag;
    std::string hex; ///< of its index or manifest
    std::string_view media_type;
    std::uint64_t size = 0;
    const std::vector<std::string>* platforms = nullptr;
    std::string_view bundle;
    std::uint64_t generation = 0;
};

/// Views that it gives out are valid as long as it is. 100,000 names of 60 characters take about 13 MiB.
class References {
  public:
    References() = default;
    explicit References(const std::vector<BundleClaims>& bundles);
    /// A bundle whose record can't be read is named in problems() and hides no other. Fails only if the catalogue
    /// itself can't be listed.
    [[nodiscard]] static base::Result<References> load(const base::Root& root);

    /// Who has the name; nobody in a reference by digest.
    [[nodiscard]] std::optional<Claim> find(const Reference& reference) const;
    /// All who claim it, the one who has it first. By digest: all names in that repository that lead to it.
    [[nodiscard]] std::vector<Claim> claims(const Reference& reference) const;
    /// Each name once, by who has it, in order.
    [[nodiscard]] std::vector<Claim> all() const;
    [[nodiscard]] std::size_t size() const { return names_; }

    /// `repository` with its registry.
    [[nodiscard]] bool has_repository(std::string_view repository) const;
    /// In order; those after `last`, at most `most`.
    [[nodiscard]] std::vector<std::string_view> tags(std::string_view repository, std::string_view last,
                                                     std::size_t most) const;
    [[nodiscard]] const std::vector<std::string>& registries() const { return registries_; }

    /// Images that say to be about the document with that digest, each once, ordered by digest.
    [[nodiscard]] std::vector<const BundleImage*> referrers(std::string_view subject_hex) const;

    /// When the newest bundle of all was signed; in seconds since 1970, 0 if there is none.
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
        std::uint32_t at = 0; ///< in text_: "registry/repository:tag"
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
    std::vector<Row> rows_; ///< by repository, tag, and who goes first
    std::size_t names_ = 0;
    std::vector<Bundle> bundles_;
    std::vector<std::string> media_types_;
    std::vector<std::vector<std::string>> platforms_;
    std::vector<std::string> registries_; ///< sorted
    std::vector<BundleImage> referrers_;  ///< by subject and digest
    std::vector<base::Error> problems_;
};

} // namespace gpuhost::images
