// SPDX-License-Identifier: Apache-2.0
// The first half of an import: writes the blobs that the host lacks into an incoming directory, and compares
// them with their digests.
#pragma once

#include "images/bundle/host_facts.hpp"
#include "images/bundle/reader.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// Called after each processed part of a bundle with the part's size in bytes (not the total). Never called
/// by two threads at once.
using OnBytes = std::function<void(std::uint64_t)>;

/// Returns the path of the incoming directory of an import. `name` is the identity() of the bundle's
/// manifest.
[[nodiscard]] std::string incoming_of(std::string_view name);
/// Returns the path of the signed manifest in the directory incoming_of(name). The manifest is written after
/// all blobs.
[[nodiscard]] std::string incoming_manifest(std::string_view name);

/// Returns the path of one blob in the incoming directory of the bundle whose manifest is `digest`.
[[nodiscard]] std::string received_path(const std::string& digest, const std::string& hex);
/// Returns how many bytes of the blob an interrupted import has left in received_path(); 0 if none.
[[nodiscard]] std::uint64_t received_bytes(const base::Root& root, const std::string& digest,
                                           const std::string& hex);
/// Returns the sum of received_bytes() of all blobs of the bundle.
[[nodiscard]] std::uint64_t received_bytes(const base::Root& root, const std::string& digest);
/// Returns the blobs of a bundle that this host needs and that are not in the store, in the manifest's order.
/// The pointers are to members of `manifest`.
[[nodiscard]] std::vector<const Member*>
missing_members(const base::Root& root, const BundleManifest& manifest, const HostFacts& host);

/// Reads the whole bundle and writes the missing blobs into its incoming directory, then the signed manifest.
/// Keeps the incoming directories of other imports. Calls `on_bytes` for all members, also for skipped ones.
/// Reads large blobs of a file with several threads, unless the file is on a rotating disk.
[[nodiscard]] base::Result<void> receive_blobs(const base::Root& root, BundleReader& bundle,
                                               const HostFacts& host, const OnBytes& on_bytes);
/// Does the same as the other receive_blobs() for a stream of blobs (images/import/blob_stream.hpp). `input`
/// is after the signed manifest of the stream. Calls `on_bytes` only for blobs in the stream.
[[nodiscard]] base::Result<void> receive_blobs(const base::Root& root, const SignedManifest& bundle,
                                               BundleInput& input, const HostFacts& host,
                                               const OnBytes& on_bytes);

} // namespace gpuhost::images
