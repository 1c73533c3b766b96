// SPDX-License-Identifier: Apache-2.0
// The catalogue: the bundles on this host and the blobs that they own. Each bundle has one directory below
// /var/lib/gpuhost/catalogue, which is exchanged as a whole. During put(), .new-NAME is the new entry until
// the exchange and the old one after it. .absent-NAME marks that there was no old entry.
//
//   NAME/record.json    frequently used values: generation, signer, sizes
//   NAME/images.json    its images
//   NAME/blobs          one line for each of its blobs in the store: "<hex> <size>\n", sorted
//   NAME/packages/      a repository for each distribution: links into the store (images/store/packages.hpp)
//   NAME/files/         a directory for each set of plain files: likewise
//   NAME/manifest.p7s   the signed manifest, unchanged; an unsigned bundle has manifest.json instead
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

/// Plain files, under a name that the site chose.
struct FileSet {
    std::string name;
    std::uint64_t files = 0;
};

struct BundleRecord {
    std::string name;
    std::uint64_t generation = 0;
    std::uint64_t created = 0;  ///< seconds since 1970
    std::uint64_t imported = 0; ///< seconds since 1970
    std::string manifest;       ///< identity() of the manifest in manifest.p7s
    content::Signer signer;
    std::uint64_t blobs = 0; ///< number of its blobs in the store
    std::uint64_t bytes = 0; ///< total size of these
    std::uint64_t images = 0;
    std::vector<std::string> registries; ///< of its images, sorted
    /// "HOST/FIRST" of its images from registries without a port, sorted.
    std::vector<std::string> namespaces;
    std::vector<PackageTree> packages; ///< repositories that this host needs
    std::vector<FileSet> files;        ///< files that this host needs

    [[nodiscard]] bool is_signed() const { return !signer.sha256.empty(); }
};

/// The result of an import besides the blobs.
struct CatalogueEntry {
    BundleRecord record;
    std::vector<BundleImage> images;
    std::vector<OwnedBlob> blobs;   ///< sorted
    std::vector<LinkTree> packages; ///< by distribution
    std::vector<LinkTree> files;    ///< by the name of their set
    std::string signed_manifest;
};

/// The paths for a bundle in the catalogue, by name.
[[nodiscard]] std::string packages_directory(const std::string& bundle, const std::string& distribution);
[[nodiscard]] std::string files_directory(const std::string& bundle, const std::string& set);

class Catalogue {
  public:
    explicit Catalogue(const base::Root& root) : root_(root) {}

    /// Returns the names of all bundles, sorted.
    [[nodiscard]] base::Result<std::vector<std::string>> names() const;
    /// Fails with NotFound if there is no such bundle, and with BadContent if its record is damaged.
    [[nodiscard]] base::Result<BundleRecord> record(const std::string& name) const;
    /// Returns the record that put() replaced, until finalize(). Fails with NotFound if there was none.
    [[nodiscard]] base::Result<BundleRecord> replaced(const std::string& name) const;
    [[nodiscard]] base::Result<std::vector<OwnedBlob>> blobs(const std::string& name) const;
    [[nodiscard]] base::Result<std::vector<BundleImage>> images(const std::string& name) const;

    /// Returns the signed manifest, unchanged. Fails with NotFound if the bundle is unsigned.
    [[nodiscard]] base::Result<std::string> signed_manifest(const std::string& name) const;
    [[nodiscard]] base::Result<base::UniqueFd> open_signed_manifest(const std::string& name) const;

    /// Replaces the entry of that name atomically and durably. Keeps the old entry beside it until
    /// finalize().
    [[nodiscard]] base::Result<void> put(const CatalogueEntry& entry) const;
    /// Undoes a complete or partial put() of the bundle whose manifest is `digest`: restores the old entry.
    [[nodiscard]] base::Result<void> undo_put(const std::string& name, const std::string& digest) const;
    /// Removes the old entries that put() kept. Undo is impossible afterwards.
    [[nodiscard]] base::Result<void> finalize() const;
    /// Returns the names that finalize() would remove.
    [[nodiscard]] base::Result<std::vector<std::string>> unfinalized() const;
    /// Frees disk space by removing the large files of an entry that is about to be removed. Keeps its record
    /// and list of blobs.
    [[nodiscard]] base::Result<void> strip(const std::string& name) const;
    /// Removes an entry. Succeeds if there is none.
    [[nodiscard]] base::Result<void> remove(const std::string& name) const;

  private:
    [[nodiscard]] base::Result<BundleRecord> read_record(const std::string& directory) const;
    /// Reports whether the entry at this path is the bundle whose manifest is `digest`.
    [[nodiscard]] base::Result<bool> is_of(const std::string& path, const std::string& digest) const;
    const base::Root& root_;
};

[[nodiscard]] base::Json to_json(const BundleRecord& record);
[[nodiscard]] base::Result<BundleRecord> record_from_json(const base::Json& value);

} // namespace gpuhost::images
