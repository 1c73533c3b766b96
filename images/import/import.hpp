// SPDX-License-Identifier: Apache-2.0
// Imports a bundle in two halves. `receive` writes the missing blobs beside the store. `commit` renames them
// into the store and enters the bundle into the catalogue. Nothing of the bundle is visible before commit,
// and all of it afterwards. In between, other subsystems use their artifacts.
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
    bool absent_may_come = false; ///< missing blobs of a delta are sent from elsewhere
    LeastGenerations least = {};  ///< limits that no downgrade goes below
};

/// The work of an import, checked for generation, for blobs that a delta relies on, and for space. Reads
/// nothing of the bundle beyond what open() read.
struct ImportPlan {
    std::uint64_t missing_bytes = 0;
    std::uint64_t missing_blobs = 0;
    std::uint64_t present_blobs = 0;
    bool complete = false; ///< this same bundle is here already, with all its blobs
};
[[nodiscard]] base::Result<ImportPlan> plan_import(const base::Root& root, const SignedManifest& bundle,
                                                   const HostFacts& host, const ImportPolicy& policy);

/// Returns a warning if a bundle was made later than `now` (seconds since 1970); else empty. The import
/// continues, since either clock may be wrong. Until that date, the bundle's names win over those of all
/// others.
[[nodiscard]] std::string clock_warning(const BundleManifest& manifest, std::uint64_t now);

/// Writes the missing blobs into the incoming directory and marks the result for received_bundle() and
/// commit_bundle(). Removes what other bundles left there.
[[nodiscard]] base::Result<void> receive_bundle(const base::Root& root, BundleReader& bundle,
                                                const HostFacts& host, const OnBytes& on_bytes = {});
/// The same for a stream of blobs (images/import/blob_stream.hpp) after its signed manifest.
[[nodiscard]] base::Result<void> receive_stream(const base::Root& root, const SignedManifest& bundle,
                                                BundleInput& input, const HostFacts& host,
                                                const OnBytes& on_bytes = {});
/// A bundle that these two received completely and that is not finalized. received_bundle() returns nothing
/// if there is none.
struct Received {
    std::string name;
    std::string digest;
};
[[nodiscard]] base::Result<std::optional<Received>> received_bundle(const base::Root& root);

/// Removes the mark: nothing is to be committed. Keeps the received blobs, so a repeated import continues
/// from there.
[[nodiscard]] base::Result<void> forget_received(const base::Root& root);
[[nodiscard]] base::Result<void> mark_received(const base::Root& root, const Received& received);
/// Removes what other imports left, to free its space. Only one import runs at a time.
[[nodiscard]] base::Result<void> remove_other_incoming(const base::Root& root, const std::string& digest);

/// Fails with NoSpace if `missing` bytes do not fit beside the reserve. Files of other imports than `digest`
/// count as free space.
[[nodiscard]] base::Result<void> check_space(const base::Root& root, std::uint64_t missing,
                                             const std::string& digest);

/// Verifies the signature again, then commits. Ends in the same state wherever an earlier run was
/// interrupted.
[[nodiscard]] base::Result<BundleRecord> commit_bundle(const base::Root& root, const Received& received,
                                                       const content::TrustAnchors& trust,
                                                       const HostFacts& host);
/// The same for the result of add_foreign_images(). The caller decides whether unsigned bundles are allowed.
[[nodiscard]] base::Result<BundleRecord> commit_unsigned(const base::Root& root, const Received& received,
                                                         const HostFacts& host);
/// Restores the catalogue as it was before commit_bundle(). Blobs in the store stay there: the next import of
/// the bundle finds them.
[[nodiscard]] base::Result<void> undo_receive(const base::Root& root, const Received& received);
/// Ends the import; undo is impossible afterwards. Keeps what others left in the incoming directory.
[[nodiscard]] base::Result<void> finalize_import(const base::Root& root, const std::string& digest);
/// Reports whether no earlier import left anything.
[[nodiscard]] bool is_finalized(const base::Root& root);

} // namespace gpuhost::images
