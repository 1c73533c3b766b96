// SPDX-License-Identifier: Apache-2.0
#include "images/import/import.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/import/artifacts.hpp"
#include "images/store/garbage.hpp"
#include "images/store/generations.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <fcntl.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::Root;

namespace {

/// Number of copies of a manifest on the disk during an import: in the incoming directory, in the new entry
/// of the catalogue, and in the replaced entry.
constexpr std::uint64_t manifest_copies = 3;

/// The mark: a file with digest and name of the bundle that was received and is not finalized.
constexpr std::string_view received_mark = "/var/lib/gpuhost/store/incoming/received";
constexpr std::size_t mark_limit = 256;

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string((bytes + (1U << 20U) - 1) >> 20U) + " MiB";
}

Result<void> check_generation(const BundleManifest& manifest, const BundleRecord& present) {
    const std::string here =
        "generation " + std::to_string(present.generation) + " of bundle '" + present.name + "'";
    if (manifest.generation < present.generation)
        return base::fail(Errc::Refused,
                          here + " is on this host, and this is the older generation " +
                              std::to_string(manifest.generation),
                          "Pass --allow-downgrade to import it.");
    if (manifest.generation == present.generation)
        return base::fail(Errc::Refused, here + " is on this host with other content",
                          "Give the new one a higher generation, or pass --allow-downgrade to replace it.");
    // If two bundles have the same image name, the one with the later date is used. A newer generation with
    // an earlier date could therefore lose names that the present one has.
    if (manifest.created < present.created)
        return base::fail(Errc::Refused,
                          here + " is dated " + base::utc_text(present.created) +
                              ", and the newer generation " + std::to_string(manifest.generation) +
                              " is dated " + base::utc_text(manifest.created),
                          "Make it again with a later date (SOURCE_DATE_EPOCH), or pass --allow-downgrade.");
    return {};
}

Result<void> check_least(const BundleManifest& manifest, const LeastGenerations& least) {
    const auto wanted = least.find(manifest.name);
    if (wanted == least.end() || manifest.generation >= wanted->second)
        return {};
    return base::fail(
        Errc::Refused,
        "this host accepts bundle '" + manifest.name + "' from generation " + std::to_string(wanted->second) +
            " on, and this is generation " + std::to_string(manifest.generation),
        "Import a newer generation, or change MinimumGeneration= in section [Images] of gpuhostd.conf(5).");
}

Result<void> check_base(const std::vector<const Member*>& unavailable) {
    if (unavailable.empty())
        return {};
    std::string some;
    for (std::size_t i = 0; i < std::min<std::size_t>(unavailable.size(), 5); ++i)
        some += (i == 0 ? "sha256:" : ", sha256:") + unavailable[i]->hex;
    return base::fail(Errc::NotFound,
                      "this bundle leaves out " + std::to_string(unavailable.size()) +
                          " blobs that are not on this host: " + some + (unavailable.size() > 5 ? ", …" : ""),
                      "Import the bundle that it is based on first, or a complete one. Run 'gpuhostctl "
                      "bundle show FILE' to list all missing blobs.");
}

/// Returns the bytes that a file of this size occupies on the disk.
std::uint64_t on_disk(std::uint64_t bytes) {
    constexpr std::uint64_t block = 4096;
    return (bytes + block - 1) / block * block;
}

/// Returns the bytes on the disk that interrupted or refused imports of other bundles left. An import removes
/// these files before it writes.
std::uint64_t left_by_others(const Root& root, const std::string& digest) {
    std::uint64_t bytes = 0;
    for (const std::string& name : root.list(incoming_directory).value_or(std::vector<std::string>())) {
        if (name == digest)
            continue;
        const std::string directory = std::string(incoming_directory) + "/" + name;
        for (const std::string& blob : root.list(directory).value_or(std::vector<std::string>()))
            if (const auto st = root.lstat(directory + "/" + blob))
                bytes += static_cast<std::uint64_t>(st->st_blocks) * 512;
    }
    return bytes;
}

/// Returns the blobs of the bundle that this host needs, sorted.
std::vector<OwnedBlob> owned_blobs(const BundleManifest& manifest, const HostFacts& host) {
    std::vector<OwnedBlob> owned;
    for (const Member& member : manifest.members)
        if (member.is_blob() && host.needs(member))
            owned.push_back({member.hex, member.size});
    std::sort(owned.begin(), owned.end());
    return owned;
}

void add_trees(CatalogueEntry& entry, HostArtifacts artifacts) {
    for (const LinkTree& tree : artifacts.packages)
        entry.record.packages.push_back(package_tree(tree.name, names_in(tree)));
    for (const LinkTree& tree : artifacts.files)
        entry.record.files.push_back({tree.name, tree.files.size()});
    entry.packages = std::move(artifacts.packages);
    entry.files = std::move(artifacts.files);
}

CatalogueEntry make_entry(const SignedManifest& bundle, const HostFacts& host) {
    const BundleManifest& manifest = bundle.manifest;
    CatalogueEntry entry;
    entry.signed_manifest = bundle.der;
    entry.blobs = owned_blobs(manifest, host);
    entry.images = manifest.images;
    BundleRecord& record = entry.record;
    record.name = manifest.name;
    record.generation = manifest.generation;
    record.created = manifest.created;
    record.imported = base::realtime_us() / 1'000'000;
    record.manifest = bundle.digest;
    record.signer = bundle.signer;
    record.images = manifest.images.size();
    record.registries = registries_of(manifest.images);
    record.namespaces = namespaces_of(manifest.images);
    record.drivers = drivers_for(manifest, host);
    record.blobs = entry.blobs.size();
    for (const OwnedBlob& blob : entry.blobs)
        record.bytes += blob.size;
    return entry;
}

/// Returns the record of the installed bundle; nothing if it is not installed. Fails if the record is
/// damaged, because the installed generation is then unknown. If a downgrade is allowed, a damaged record
/// counts as not installed.
Result<std::optional<BundleRecord>> present_record(const Root& root, const std::string& name,
                                                   bool allow_downgrade) {
    auto record = Catalogue(root).record(name);
    if (record)
        return std::optional(*std::move(record));
    if (record.error().code == Errc::NotFound || (record.error().code == Errc::BadContent && allow_downgrade))
        return std::optional<BundleRecord>();
    return base::fail(std::move(record).error());
}

/// Reports whether all link trees of the bundle exist. An administrator may have removed one.
bool has_trees(const Root& root, const BundleRecord& bundle) {
    return std::all_of(bundle.packages.begin(), bundle.packages.end(),
                       [&](const PackageTree& tree) {
                           return root.exists(packages_directory(bundle.name, tree.distribution));
                       }) &&
           std::all_of(bundle.files.begin(), bundle.files.end(), [&](const FileSet& set) {
               return root.exists(files_directory(bundle.name, set.name));
           });
}

/// Fails with Refused if a newer generation of this bundle was on the host and was removed.
Result<void> check_removed_generation(const Root& root, const BundleManifest& manifest) {
    GPUHOST_TRY(removed, removed_generation(root, manifest.name));
    if (manifest.generation >= removed)
        return {};
    return base::fail(Errc::Refused,
                      "generation " + std::to_string(removed) + " of bundle '" + manifest.name +
                          "' was on this host until it was removed, and this is the older generation " +
                          std::to_string(manifest.generation),
                      "Pass --allow-downgrade to import it.");
}

std::vector<std::string> missing_blobs(const Root& root, const std::vector<OwnedBlob>& blobs) {
    const BlobStore store(root);
    std::vector<std::string> missing;
    for (const OwnedBlob& blob : blobs)
        if (!store.has(blob.hex, blob.size))
            missing.push_back(blob.hex);
    return missing;
}

/// Compares received blobs of unsigned images with their digests again. The worker that wrote them also
/// parsed untrusted input, which might have made it write other content.
Result<void> check_received(const Root& root, const std::string& digest,
                            const std::vector<std::string>& blobs) {
    for (const std::string& hex : blobs) {
        const std::string path = received_path(digest, hex);
        const auto fd = root.open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (!fd && fd.error().code == Errc::NotFound)
            continue; // an interrupted run renamed it into the store already
        const auto found = fd ? content::sha256_of_file(fd->get(), path) : base::fail(fd.error());
        if (found && found->sha256 == hex)
            continue;
        GPUHOST_CHECK(root.remove(path));
        return base::fail(Errc::BadContent, "blob sha256:" + hex + ": digest mismatch", "Import it again.");
    }
    return {};
}

Result<BundleRecord> commit(const Root& root, const SignedManifest& bundle, const HostFacts& host) {
    GPUHOST_TRY(incoming, Incoming::open(root, bundle.digest));
    CatalogueEntry entry = make_entry(bundle, host);
    GPUHOST_TRY(artifacts, host_artifacts(root, bundle, host));
    add_trees(entry, std::move(artifacts));
    const std::vector<std::string> missing = missing_blobs(root, entry.blobs);
    if (!entry.record.is_signed())
        GPUHOST_CHECK(check_received(root, bundle.digest, missing));
    GPUHOST_CHECK(incoming.publish(missing));
    GPUHOST_CHECK(Catalogue(root).put(entry));
    return std::move(entry.record);
}

} // namespace

std::vector<std::string> registries_of(const std::vector<BundleImage>& images) {
    std::set<std::string> registries;
    for (const BundleImage& image : images)
        if (!image.name.empty())
            // parse_bundle_manifest() has checked that image.name is a full name.
            registries.insert(image.name.substr(0, image.name.find('/')));
    return {registries.begin(), registries.end()};
}

std::vector<std::string> namespaces_of(const std::vector<BundleImage>& images) {
    std::set<std::string> namespaces; // "registry.example/team" for registry.example/team/app:v1
    for (const BundleImage& image : images) {
        const std::size_t host = image.name.find('/');
        if (host == std::string::npos || image.name.find(':') < host)
            continue;
        namespaces.insert(image.name.substr(0, image.name.find_first_of("/:@", host + 1)));
    }
    return {namespaces.begin(), namespaces.end()};
}

Result<void> check_space(const Root& root, std::uint64_t missing, const std::string& digest) {
    GPUHOST_TRY(free_now, root.free_bytes(root.existing_part(blobs_directory)));
    const std::uint64_t free = free_now + left_by_others(root, digest);
    if (missing == 0 || missing + store_reserve <= free)
        return {};
    return base::fail(Errc::NoSpace,
                      mebibytes(missing) + " are needed, but only " +
                          mebibytes(free - std::min(free, store_reserve)) + " are free for " +
                          std::string(blobs_directory),
                      "Free space there, or remove a bundle: gpuhostctl bundle remove.");
}

Result<void> remove_other_incoming(const Root& root, const std::string& digest) {
    for (const std::string& name : root.list(incoming_directory).value_or(std::vector<std::string>()))
        if (name != digest)
            GPUHOST_CHECK(root.remove_tree(std::string(incoming_directory) + "/" + name));
    return {};
}

Result<ImportPlan> plan_import(const Root& root, const SignedManifest& bundle, const HostFacts& host,
                               const ImportPolicy& policy) {
    const BundleManifest& manifest = bundle.manifest;
    const std::string& digest = bundle.digest;
    ImportPlan plan;
    std::vector<const Member*> unavailable;
    std::uint64_t space = manifest_copies * on_disk(bundle.der.size());
    for (const Member* member : missing_members(root, manifest, host)) {
        ++plan.missing_blobs;
        plan.missing_bytes += member->size;
        const std::uint64_t received = received_bytes(root, digest, member->hex);
        space += on_disk(member->size - std::min(member->size, received));
        if (member->absent && !policy.absent_may_come)
            unavailable.push_back(member);
    }
    if (std::any_of(manifest.artifacts.begin(), manifest.artifacts.end(),
                    [](const BundleArtifact& artifact) { return is_tree(artifact.kind); }))
        // Each symbolic link needs a block, because its target is too long to be stored in an inode.
        space += on_disk(1) * owned_blobs(manifest, host).size();
    plan.present_blobs = owned_blobs(manifest, host).size() - plan.missing_blobs;
    GPUHOST_CHECK(check_least(manifest, policy.least));
    GPUHOST_TRY(present, present_record(root, manifest.name, policy.allow_downgrade));
    const bool same = present && present->manifest == digest;
    if (same && plan.missing_blobs == 0) {
        const auto owned = Catalogue(root).blobs(manifest.name);
        plan.complete = owned && *owned == owned_blobs(manifest, host) && has_trees(root, *present);
    }
    if (present && present->is_signed() && !same && !policy.allow_downgrade)
        GPUHOST_CHECK(check_generation(manifest, *present));
    if ((!present || !present->is_signed()) && !policy.allow_downgrade)
        GPUHOST_CHECK(check_removed_generation(root, manifest));
    GPUHOST_CHECK(check_base(unavailable));
    if (!plan.complete)
        GPUHOST_CHECK(check_space(root, space, digest));
    return plan;
}

std::string clock_warning(const BundleManifest& manifest, std::uint64_t now) {
    constexpr std::uint64_t day = 86'400; // seconds; clocks without NTP usually differ by less
    if (manifest.created <= now + day)
        return {};
    return "bundle '" + manifest.name + "' is dated " + base::utc_text(manifest.created) +
           ", but this host's clock says " + base::utc_text(now) +
           "; the bundle with the latest date wins an image name that several bundles have: check both "
           "clocks with "
           "timedatectl, and make the bundle again if the clock there was wrong";
}

Result<void> receive_bundle(const Root& root, BundleReader& bundle, const HostFacts& host,
                            const OnBytes& on_bytes) {
    const SignedManifest& manifest = bundle.signed_manifest();
    GPUHOST_CHECK(remove_other_incoming(root, manifest.digest));
    GPUHOST_CHECK(receive_blobs(root, bundle, host, on_bytes));
    return mark_received(root, {manifest.manifest.name, manifest.digest});
}

Result<void> receive_stream(const Root& root, const SignedManifest& bundle, BundleInput& input,
                            const HostFacts& host, const OnBytes& on_bytes) {
    GPUHOST_CHECK(remove_other_incoming(root, bundle.digest));
    GPUHOST_CHECK(receive_blobs(root, bundle, input, host, on_bytes));
    return mark_received(root, {bundle.manifest.name, bundle.digest});
}

Result<void> forget_received(const Root& root) {
    return root.remove(received_mark);
}

Result<void> mark_received(const Root& root, const Received& received) {
    return root.write_atomic(received_mark, received.digest + " " + received.name);
}

Result<std::optional<Received>> received_bundle(const Root& root) {
    const auto text = root.read(received_mark, mark_limit);
    if (!text && text.error().code == Errc::NotFound)
        return std::optional<Received>();
    const auto words = base::split_words(text.value_or(""));
    if (words.size() != 2 || !content::is_sha256(words[0]) || !is_bundle_name(words[1]))
        return base::fail(Errc::BadContent, std::string(received_mark) + " is damaged",
                          "Import the bundle again.");
    return std::optional(Received{words[1], words[0]});
}

Result<BundleRecord> commit_bundle(const Root& root, const Received& received,
                                   const content::TrustAnchors& trust, const HostFacts& host) {
    const std::string path = incoming_manifest(received.digest);
    GPUHOST_TRY(der, root.read(path, manifest_limit));
    GPUHOST_TRY(bundle, verify_manifest(std::move(der), trust, path));
    return commit(root, bundle, host);
}

Result<BundleRecord> commit_unsigned(const Root& root, const Received& received, const HostFacts& host) {
    const std::string path = incoming_of(received.digest) + "/" + std::string(unsigned_manifest);
    GPUHOST_TRY(text, root.read(path, manifest_limit));
    GPUHOST_TRY(manifest, parse_bundle_manifest(text, path));
    std::string digest = identity(manifest);
    if (digest != received.digest)
        return base::fail(Errc::BadContent, path + " differs from what was received", "Import it again.");
    return commit(root, {std::move(manifest), {}, std::move(digest), std::move(text)}, host);
}

Result<void> undo_receive(const Root& root, const Received& received) {
    return Catalogue(root).undo_put(received.name, received.digest);
}

Result<void> finalize_import(const Root& root, const std::string& digest) {
    GPUHOST_CHECK(Catalogue(root).finalize());
    GPUHOST_CHECK(root.remove_tree(std::string(incoming_directory) + "/" + digest));
    // Removes the mark last: without it, a repeated call after an interruption would do nothing.
    return root.remove(received_mark);
}

bool is_finalized(const Root& root) {
    const auto kept = Catalogue(root).unfinalized();
    const auto incoming = root.list(incoming_directory);
    return kept && kept->empty() && (!incoming || incoming->empty()) && !has_garbage(root);
}

} // namespace gpuhost::images
