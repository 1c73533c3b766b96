// SPDX-License-Identifier: Apache-2.0
// Which bundles this host has, and what they own: one directory each below /var/lib/gpuhost/catalogue, exchanged as a
// whole. While one is put there, .new-NAME is the new one until they are exchanged, then the old one; .absent-NAME says
// that there was none.
//
//   NAME/record.json    what is asked for often: generation, signer, sizes
//   NAME/images.json    its images
//   NAME/blobs          one line a blob that is in the store for it: "<hex> <size>\n", sorted
//   NAME/packages/      a repository for each distribution: links into the store (images/store/packages.hpp)
//   NAME/files/         a directory for each set of plain files: likewise
//   NAME/manifest.p7s   the signed manifest as it came; what nobody signed has manifest.json
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/crypto/cms.hpp"
#include "images/bundle/manifest.hpp"
#include "images/store/link_tree.hpp"
#include "images/store/packages.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view catalogue_directory = "/var/lib/gpuhost/catalogue";
constexpr std::string_view unsigned_manifest = "manifest.json";

struct OwnedBlob {
    std::string hex;
    std::uint64_t size = 0;
    friend auto operator<=>(const OwnedBlob&, const OwnedBlob&) = default;
};

/// Plain files, under a name of the site's.
struct FileSet {
    std::string name;
    std::uint64_t files = 0;
};

struct BundleRecord {
    std::string name;
    std::uint64_t generation = 0;
    std::uint64_t created = 0;  ///< seconds since 1970
    std::uint64_t imported = 0; ///< likewise
    std::string manifest;       ///< identity() of what is signed in manifest.p7s
    content::Signer signer;
    std::uint64_t blobs = 0; ///< in the store for it
    std::uint64_t bytes = 0; ///< of these
    std::uint64_t images = 0;
    std::vector<std::string> registries; ///< of its images, in order
    std::vector<std::string>
        namespaces;                    ///< "HOST/FIRST" of its images of registries without a port, in order
    std::vector<PackageTree> packages; ///< repositories that this host takes
    std::vector<FileSet> files;        ///< likewise

    [[nodiscard]] bool is_signed() const { return !signer.sha256.empty(); }
};

/// What an import leaves behind besides the blobs.
struct CatalogueEntry {
    BundleRecord record;
    std::vector<BundleImage> images;
    std::vector<OwnedBlob> blobs;   ///< sorted
    std::vector<LinkTree> packages; ///< by distribution
    std::vector<LinkTree> files;    ///< by the name of their set
    std::string signed_manifest;
};

/// Of a bundle that is here, by name.
[[nodiscard]] std::string packages_directory(const std::string& bundle, const std::string& distribution);
[[nodiscard]] std::string files_directory(const std::string& bundle, const std::string& set);

class Catalogue {
  public:
    explicit Catalogue(const base::Root& root) : root_(root) {}

    /// In order.
    [[nodiscard]] base::Result<std::vector<std::string>> names() const;
    /// NotFound if there is none of that name, BadContent if it is damaged.
    [[nodiscard]] base::Result<BundleRecord> record(const std::string& name) const;
    /// What put() took the place of, until settle(); NotFound if that was nothing.
    [[nodiscard]] base::Result<BundleRecord> replaced(const std::string& name) const;
    [[nodiscard]] base::Result<std::vector<OwnedBlob>> blobs(const std::string& name) const;
    [[nodiscard]] base::Result<std::vector<BundleImage>> images(const std::string& name) const;

    /// As it came; NotFound where nobody signed.
    [[nodiscard]] base::Result<std::string> signed_manifest(const std::string& name) const;
    [[nodiscard]] base::Result<base::UniqueFd> open_signed_manifest(const std::string& name) const;

    /// In place of the one of that name, at once and durably. That one is kept beside it until settle().
    [[nodiscard]] base::Result<void> put(const CatalogueEntry& entry) const;
    /// Undoes put() of the bundle whose manifest is `digest`, as far as it came: what was there before is there again.
    [[nodiscard]] base::Result<void> take_back(const std::string& name, const std::string& digest) const;
    /// Removes what is kept; from here on there is no way back.
    [[nodiscard]] base::Result<void> settle() const;
    /// What settle() would remove.
    [[nodiscard]] base::Result<std::vector<std::string>> unsettled() const;
    /// Takes away what is large of an entry that is about to go, for room on the disk. It still has its record and blobs.
    [[nodiscard]] base::Result<void> strip(const std::string& name) const;
    /// Absent is fine.
    [[nodiscard]] base::Result<void> remove(const std::string& name) const;

  private:
    [[nodiscard]] base::Result<BundleRecord> read_record(const std::string& directory) const;
    /// Is the entry at this path of that bundle?
    [[nodiscard]] base::Result<bool> is_of(const std::string& path, const std::string& digest) const;
    const base::Root& root_;
};

[[nodiscard]] base::Json to_json(const BundleRecord& record);
[[nodiscard]] base::Result<BundleRecord> record_from_json(const base::Json& value);

} // namespace gpuhost::images
