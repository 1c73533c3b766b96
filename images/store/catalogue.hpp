// SPDX-License-Identifier: Apache-2.0
// The catalogue: the bundles on this host, and the blobs in the store that each of them uses ("owns"). Each
// bundle has one directory below /var/lib/gpuhost/catalogue. The function put() writes the new directory as
// .new-NAME, then exchanges it with NAME, so that .new-NAME is the old one. If there was no old one,
// .absent-NAME records that. finalize() removes both.
//
//   NAME/record.json    frequently used values: generation, signer, sizes
//   NAME/images.json    its images
//   NAME/blobs          one line for each of its blobs in the store: "<hex> <size>\n", sorted
//   NAME/packages/      a repository for each distribution: links into the store (images/store/packages.hpp)
//   NAME/files/         a directory for each set of plain files: likewise
//   NAME/manifest.p7s   the signed manifest, unchanged; an unsigned bundle has manifest.json instead
#pragma once

#include "daemon/base/json_fwd.hpp"
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

/// A set of plain files in a bundle, [Files NAME] in its specification.
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
    std::uint64_t blobs = 0; ///< number of blobs in the store that it owns
    std::uint64_t bytes = 0; ///< total size of these blobs
    std::uint64_t images = 0;
    std::vector<std::string> registries; ///< the registries in the names of its images, sorted
    /// Registry and first component of the repository of each image, such as "docker.io/library". Registries
    /// with a port are left out. Sorted.
    std::vector<std::string> namespaces;
    std::vector<PackageTree> packages; ///< repositories of packages for this host
    std::vector<FileSet> files;        ///< sets of files for this host
    std::vector<std::string> drivers;  ///< driver versions for this host

    [[nodiscard]] bool is_signed() const { return !signer.sha256.empty(); }
};

/// Everything that put() writes into a bundle's directory.
struct CatalogueEntry {
    BundleRecord record;
    std::vector<BundleImage> images;
    std::vector<OwnedBlob> blobs;   ///< sorted
    std::vector<LinkTree> packages; ///< one tree for each distribution
    std::vector<LinkTree> files;    ///< one tree for each set of files
    std::string signed_manifest;
};

/// Return the paths of a bundle's repository for a distribution, and of a set of its files.
[[nodiscard]] std::string packages_directory(const std::string& bundle, const std::string& distribution);
[[nodiscard]] std::string files_directory(const std::string& bundle, const std::string& set);

class Catalogue {
  public:
    explicit Catalogue(const base::Root& root) : root_(root) {}

    /// Returns the names of all bundles, sorted.
    [[nodiscard]] base::Result<std::vector<std::string>> names() const;
    /// Returns the record of a bundle. Fails with NotFound if there is no such bundle, and with BadContent if
    /// its record is damaged.
    [[nodiscard]] base::Result<BundleRecord> record(const std::string& name) const;
    /// Returns the record of the bundle that put() replaced. Fails with NotFound if put() replaced none, or
    /// after finalize().
    [[nodiscard]] base::Result<BundleRecord> replaced(const std::string& name) const;
    /// Reports whether put() found no entry of that name to replace. False after finalize().
    [[nodiscard]] bool is_new(const std::string& name) const;
    [[nodiscard]] base::Result<std::vector<OwnedBlob>> blobs(const std::string& name) const;
    [[nodiscard]] base::Result<std::vector<BundleImage>> images(const std::string& name) const;

    /// Returns the signed manifest, unchanged. Fails with NotFound if the bundle is unsigned.
    [[nodiscard]] base::Result<std::string> signed_manifest(const std::string& name) const;
    [[nodiscard]] base::Result<base::UniqueFd> open_signed_manifest(const std::string& name) const;

    /// Writes the entry of a bundle, and replaces an existing one of that name atomically and durably. Keeps
    /// the old entry as .new-NAME until finalize() or undo_put(). May be repeated after an interruption.
    [[nodiscard]] base::Result<void> put(const CatalogueEntry& entry) const;
    /// Undoes a complete or interrupted put() of a bundle: restores the old entry. `digest` is the identity()
    /// of the bundle's manifest. An entry of another manifest stays.
    [[nodiscard]] base::Result<void> undo_put(const std::string& name, const std::string& digest) const;
    /// Removes the old entries that put() kept, of all bundles. undo_put() is impossible afterwards.
    [[nodiscard]] base::Result<void> finalize() const;
    /// Returns the names of the directories and files that finalize() would remove.
    [[nodiscard]] base::Result<std::vector<std::string>> unfinalized() const;
    /// Frees disk space on a full disk, before remove(): removes the manifest, images and link trees of an
    /// entry. Keeps its record and its list of blobs.
    [[nodiscard]] base::Result<void> strip(const std::string& name) const;
    /// Removes an entry. Succeeds if there is none.
    [[nodiscard]] base::Result<void> remove(const std::string& name) const;

  private:
    [[nodiscard]] base::Result<BundleRecord> read_record(const std::string& directory) const;
    /// Reports whether the directory at `path` is an entry of the bundle whose manifest has this identity().
    [[nodiscard]] base::Result<bool> is_of(const std::string& path, const std::string& digest) const;
    const base::Root& root_;
};

[[nodiscard]] base::Json to_json(const BundleRecord& record);
[[nodiscard]] base::Result<BundleRecord> record_from_json(const base::Json& value);

} // namespace gpuhost::images
