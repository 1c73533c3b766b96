// SPDX-License-Identifier: Apache-2.0
// The first half of an import: writes missing blobs beside the store and compares them with their digests.
#pragma once

#include "images/bundle/host_facts.hpp"
#include "images/bundle/reader.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// Called with the size in bytes of each processed part of the bundle. Never called by two threads at once.
using OnBytes = std::function<void(std::uint64_t)>;

/// Returns the directory of an import until commit. `name` is the digest of the bundle's manifest.
[[nodiscard]] std::string incoming_of(std::string_view name);
/// Returns the path of the signed manifest there, which is written last.
[[nodiscard]] std::string incoming_manifest(std::string_view name);

/// Returns the path of one blob there.
[[nodiscard]] std::string received_path(const std::string& digest, const std::string& hex);
/// Returns the bytes of a blob that an interrupted import left.
[[nodiscard]] std::uint64_t received_bytes(const base::Root& root, const std::string& digest,
                                           const std::string& hex);
/// Returns the sum over all blobs.
[[nodiscard]] std::uint64_t received_bytes(const base::Root& root, const std::string& digest);
/// Returns the blobs that this host needs and lacks, in the bundle's order. They point into the manifest.
[[nodiscard]] std::vector<const Member*>
missing_members(const base::Root& root, const BundleManifest& manifest, const HostFacts& host);

/// Writes the missing blobs into the incoming directory for commit_bundle(). Keeps what other bundles left
/// there. Reads large blobs of a file in several threads, unless the disk rotates.
[[nodiscard]] base::Result<void> receive_blobs(const base::Root& root, BundleReader& bundle,
                                               const HostFacts& host, const OnBytes& on_bytes);
/// The same for a stream of blobs (images/import/blob_stream.hpp) whose signed manifest has been read.
[[nodiscard]] base::Result<void> receive_blobs(const base::Root& root, const SignedManifest& bundle,
                                               BundleInput& input, const HostFacts& host,
                                               const OnBytes& on_bytes);

} // namespace gpuhost::images
