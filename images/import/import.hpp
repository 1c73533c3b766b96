// SPDX-License-Identifier: Apache-2.0
// Imports a bundle in two halves. First, receive_bundle() or receive_stream() writes the blobs that the host
// lacks into an incoming directory. Then commit_bundle() renames them into the blob store and adds the bundle
// to the catalogue. The bundle becomes visible as a whole at the end of the second half. Between the two
// halves, other subsystems import their artifacts, such as drivers, from the incoming directory.
#pragma once

#include "images/bundle/host_facts.hpp"
#include "images/images_settings.hpp"
#include "images/import/receive.hpp"
#include "images/store/blob_store.hpp"
#include "images/store/catalogue.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::images {

struct ImportPolicy {
    bool allow_downgrade = false; ///< accept an older generation, or other content for the same one
    /// Blobs that a delta leaves out and this host lacks are not an error: peers send them.
    bool absent_may_come = false;
    LeastGenerations least = {}; ///< least generations, which also apply to downgrades
};

/// The work of an import: how much must be written. plan_import() reads only the manifest, not the bundle's
/// content. It fails with Refused if the generation may not be imported, with NotFound if a delta lacks blobs
/// that this host needs, and with NoSpace.
struct ImportPlan {
    std::uint64_t missing_bytes = 0;
    std::uint64_t missing_blobs = 0;
    std::uint64_t present_blobs = 0;
    /// This bundle (same identity()) is installed already, with all its blobs and link trees.
    bool complete = false;
};
[[nodiscard]] base::Result<ImportPlan> plan_import(const base::Root& root, const SignedManifest& bundle,
                                                   const HostFacts& host, const ImportPolicy& policy);

/// Return BundleRecord::registries and BundleRecord::namespaces of these images.
[[nodiscard]] std::vector<std::string> registries_of(const std::vector<BundleImage>& images);
[[nodiscard]] std::vector<std::string> namespaces_of(const std::vector<BundleImage>& images);

/// Returns a warning if the bundle's date is more than a day after `now` (seconds since 1970); else empty. It
/// is not an error, since either clock may be wrong. But until that date, this bundle precedes all others
/// that have the same image names.
[[nodiscard]] std::string clock_warning(const BundleManifest& manifest, std::uint64_t now);

/// Writes the blobs that this host needs and lacks into the incoming directory, then calls mark_received().
/// First removes the files that other imports left in incoming/. Calls `on_bytes` as receive_blobs() does.
[[nodiscard]] base::Result<void> receive_bundle(const base::Root& root, BundleReader& bundle,
                                                const HostFacts& host, const OnBytes& on_bytes = {});
/// Does the same as receive_bundle() for a stream of blobs (images/import/blob_stream.hpp). `input` is after
/// the signed manifest of the stream.
[[nodiscard]] base::Result<void> receive_stream(const base::Root& root, const SignedManifest& bundle,
                                                BundleInput& input, const HostFacts& host,
                                                const OnBytes& on_bytes = {});
/// A bundle that was received completely and is not finalized yet. A mark on the disk records it. If there is
/// no mark, received_bundle() returns nothing.
struct Received {
    std::string name;
    std::string digest;
};
[[nodiscard]] base::Result<std::optional<Received>> received_bundle(const base::Root& root);

/// Removes the mark, so that nothing is committed. Keeps the received blobs, so that a repeated import of the
/// bundle does not write them again.
[[nodiscard]] base::Result<void> forget_received(const base::Root& root);
/// Writes the mark that received_bundle() reads. Called after all blobs and the manifest are written.
[[nodiscard]] base::Result<void> mark_received(const base::Root& root, const Received& received);
/// Removes the incoming directories of all imports other than that of manifest `digest`, to free their space.
/// Only one import runs at a time.
[[nodiscard]] base::Result<void> remove_other_incoming(const base::Root& root, const std::string& digest);

/// Fails with NoSpace if `missing` bytes and store_reserve do not fit into the free space. Incoming files of
/// imports other than that of manifest `digest` count as free, because remove_other_incoming() removes them.
[[nodiscard]] base::Result<void> check_space(const base::Root& root, std::uint64_t missing,
                                             const std::string& digest);

/// Verifies the signature of the received manifest again, then renames its blobs into the store and adds the
/// bundle to the catalogue. May be repeated after an interruption.
[[nodiscard]] base::Result<BundleRecord> commit_bundle(const base::Root& root, const Received& received,
                                                       const content::TrustAnchors& trust,
                                                       const HostFacts& host);
/// Does the same as commit_bundle() for the result of add_foreign_images(), which has no signature. The
/// caller checks that unsigned bundles are allowed (AllowUnsigned=).
[[nodiscard]] base::Result<BundleRecord> commit_unsigned(const base::Root& root, const Received& received,
                                                         const HostFacts& host);
/// Undoes commit_bundle() or commit_unsigned() in the catalogue. Blobs that are in the store already stay
/// there, so that the next import of the bundle finds them.
[[nodiscard]] base::Result<void> undo_receive(const base::Root& root, const Received& received);
/// Ends the import of the bundle with manifest `digest`. Removes the replaced entry of the catalogue, the
/// bundle's incoming directory and the mark. An undo_receive() is impossible afterwards. Keeps the incoming
/// directories of other imports.
[[nodiscard]] base::Result<void> finalize_import(const base::Root& root, const std::string& digest);
/// Reports whether no import left anything: no replaced entry in the catalogue, no incoming files, and no
/// blobs without an owner.
[[nodiscard]] bool is_finalized(const base::Root& root);

} // namespace gpuhost::images
