// SPDX-License-Identifier: Apache-2.0
#include "images/store/garbage.hpp"

#include "daemon/content/crypto/cms.hpp"
#include "images/bundle/manifest.hpp"
#include "images/store/blob_store.hpp"
#include "images/store/catalogue.hpp"
#include "images/store/generations.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::Root;

namespace {

/// Returns the blobs of all bundles other than `except`, sorted. Fails if the list of blobs of such a bundle
/// is unreadable.
Result<std::vector<OwnedBlob>> all_owned(const Root& root, const std::string& except) {
    const Catalogue catalogue(root);
    GPUHOST_TRY(names, catalogue.names());
    std::vector<OwnedBlob> owned;
    for (const std::string& name : names) {
        if (name == except)
            continue;
        GPUHOST_TRY(blobs, catalogue.blobs(name));
        owned.insert(owned.end(), blobs.begin(), blobs.end());
    }
    std::sort(owned.begin(), owned.end());
    return owned;
}

bool owns(const std::vector<OwnedBlob>& owned, const std::string& hex) {
    const auto found =
        std::lower_bound(owned.begin(), owned.end(), hex,
                         [](const OwnedBlob& blob, const std::string& name) { return blob.hex < name; });
    return found != owned.end() && found->hex == hex;
}

Result<std::vector<std::string>> unowned(const Root& root, const std::vector<OwnedBlob>& owned) {
    auto names = root.list(blobs_directory);
    if (!names && names.error().code == Errc::NotFound)
        return std::vector<std::string>();
    if (!names)
        return base::fail(names.error());
    std::erase_if(*names, [&](const std::string& name) { return owns(owned, name); });
    return names;
}

Result<Freed> remove_unowned(const Root& root, const std::vector<OwnedBlob>& owned) {
    Freed freed;
    GPUHOST_TRY(names, unowned(root, owned));
    const BlobStore store(root);
    for (const std::string& name : names) {
        const auto st = root.lstat(std::string(blobs_directory) + "/" + name);
        GPUHOST_CHECK(store.remove(name));
        ++freed.blobs;
        freed.bytes += st ? static_cast<std::uint64_t>(st->st_size) : 0;
    }
    return freed;
}

/// Returns the generation of an installed bundle; 0 for an unsigned one. If its record is damaged, reads its
/// manifest, without verifying the signature again: the import did that.
Result<std::uint64_t> signed_generation(const Catalogue& catalogue, const std::string& name) {
    const auto record = catalogue.record(name);
    if (record)
        return record->is_signed() ? record->generation : 0;
    const auto der = catalogue.signed_manifest(name);
    if (!der && der.error().code == Errc::NotFound)
        return std::uint64_t{0};
    auto text = der ? content::signed_content_unverified(*der, name) : base::fail(der.error());
    const auto manifest = text ? parse_bundle_manifest(*text, name) : base::fail(text.error());
    if (manifest)
        return manifest->generation;
    return base::fail(
        Errc::BadContent,
        "bundle '" + name +
            "': its record and its manifest are damaged, so the generation to remember is unknown",
        "Import it again with --allow-downgrade, then remove it.");
}

} // namespace

Result<Freed> remove_garbage(const Root& root) {
    if (!root.exists(catalogue_directory))
        return Freed(); // the catalogue was probably lost; all blobs would be removed
    GPUHOST_TRY(owned, all_owned(root, {}));
    return remove_unowned(root, owned);
}

bool has_garbage(const Root& root) {
    const auto owned = all_owned(root, {});
    const auto names = owned ? unowned(root, *owned) : base::fail(owned.error());
    return names && !names->empty();
}

Result<void> check_owners(const Root& root, const std::string& except) {
    const auto owned = all_owned(root, except);
    return owned ? Result<void>() : base::fail(owned.error());
}

Result<Freed> remove_bundle(const Root& root, const std::string& name) {
    // all_owned() is called first: it fails if the list of blobs of another bundle is unreadable.
    GPUHOST_TRY(owned, all_owned(root, name));
    const Catalogue catalogue(root);
    GPUHOST_TRY(generation, signed_generation(catalogue, name));
    const auto remembered = generation == 0 ? Result<void>() : remember_generation(root, name, generation);
    if (!remembered && remembered.error().code != Errc::NoSpace)
        return base::fail(remembered.error());
    if (remembered) {
        GPUHOST_CHECK(catalogue.remove(name));
        return remove_unowned(root, owned);
    }
    // The disk is full, so blobs are removed first to get space for recording the generation. The catalogue's
    // record is removed last, so that a repeated call after an interruption does all of this again.
    GPUHOST_TRY(freed, remove_unowned(root, owned));
    GPUHOST_CHECK(catalogue.strip(name));
    GPUHOST_CHECK(remember_generation(root, name, generation));
    GPUHOST_CHECK(catalogue.remove(name));
    return freed;
}

} // namespace gpuhost::images
