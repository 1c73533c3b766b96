// SPDX-License-Identifier: Apache-2.0
// A bundle comes in, in two halves: receive writes what is missing beside the store, commit names it and enters it
// into the catalogue. Until commit nothing of the bundle can be seen; after it, all of it. In between, other rooms take
// what is theirs.
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
    bool allow_downgrade = false; ///< an older generation, or another bundle of the same one
    bool absent_may_come = false; ///< blobs that its file leaves out come from elsewhere
    LeastGenerations least = {};  ///< that no downgrade goes below
};

/// What must be written, and whether that may be: generation, blobs that a delta takes for granted, space. Reads
/// nothing of the bundle beyond what open() did.
struct ImportPlan {
    std::uint64_t missing_bytes = 0;
    std::uint64_t missing_blobs = 0;
    std::uint64_t present_blobs = 0;
    bool complete = false; ///< this very bundle is here already, with all its blobs
};
[[nodiscard]] base::Result<ImportPlan> plan_import(const base::Root& root, const SignedManifest& bundle,
                                                   const HostFacts& host, const ImportPolicy& policy);

/// What to tell of a bundle that was made after this host's time, in seconds since 1970; empty: nothing. It comes in, as
/// nobody can know which of the two clocks is wrong; but until its time, no bundle's names go before its own.
[[nodiscard]] std::string clock_warning(const BundleManifest& manifest, std::uint64_t now);

/// Leaves in the incoming directory what commit_bundle() names, and says so to received_bundle(). What other bundles
/// left there goes.
[[nodiscard]] base::Result<void> receive_bundle(const base::Root& root, BundleReader& bundle,
                                                const HostFacts& host, const OnBytes& on_bytes = {});
/// The same of a stream of blobs (images/import/blob_stream.hpp) behind its signed manifest.
[[nodiscard]] base::Result<void> receive_stream(const base::Root& root, const SignedManifest& bundle,
                                                BundleInput& input, const HostFacts& host,
                                                const OnBytes& on_bytes = {});
/// What these two left complete and nobody has settled; nothing if there is none.
struct Received {
    std::string name;
    std::string digest;
};
[[nodiscard]] base::Result<std::optional<Received>> received_bundle(const base::Root& root);

/// Nothing is to be committed. What was received stays, and the import that received it goes on from there.
[[nodiscard]] base::Result<void> forget_received(const base::Root& root);
[[nodiscard]] base::Result<void> mark_received(const base::Root& root, const Received& received);
/// Only one import runs at a time: what others left there is of no use to this one, and takes its space.
[[nodiscard]] base::Result<void> remove_other_incoming(const base::Root& root, const std::string& digest);

/// NoSpace if so many bytes can't be written and leave the reserve free; what imports but that of `digest` left counts as
/// free.
[[nodiscard]] base::Result<void> check_space(const base::Root& root, std::uint64_t missing,
                                             const std::string& digest);

/// Verifies its signature again. Converges: ends in the same state wherever a run before it was interrupted.
[[nodiscard]] base::Result<BundleRecord> commit_bundle(const base::Root& root, const Received& received,
                                                       const content::TrustAnchors& trust,
                                                       const HostFacts& host);
/// The same of what adopt_images() left; whether that may be is for the caller to know.
[[nodiscard]] base::Result<BundleRecord> commit_unsigned(const base::Root& root, const Received& received,
                                                         const HostFacts& host);
/// Converges to the catalogue as it was before commit_bundle(). Blobs that have their names keep them: the next import
/// of the bundle finds them.
[[nodiscard]] base::Result<void> take_back_bundle(const base::Root& root, const Received& received);
/// From here on there is no way back. What others left in the incoming directory stays.
[[nodiscard]] base::Result<void> settle_import(const base::Root& root, const std::string& digest);
/// Nothing is left of any import before.
[[nodiscard]] bool is_settled(const base::Root& root);

} // namespace gpuhost::images
