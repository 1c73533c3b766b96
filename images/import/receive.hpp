// SPDX-License-Identifier: Apache-2.0
// The first half of an import: what is missing comes in beside the store, and is compared with its digest on the way.
#pragma once

#include "images/bundle/host_facts.hpp"
#include "images/bundle/reader.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// Told of each part of the bundle that is done with, in bytes. Never by two threads at once.
using OnBytes = std::function<void(std::uint64_t)>;

/// Where what comes in is kept until it is committed; `name` is the digest of the bundle's manifest.
[[nodiscard]] std::string incoming_of(std::string_view name);
/// The signed one in it, which is written last.
[[nodiscard]] std::string incoming_manifest(std::string_view name);

/// Where one of its blobs is meanwhile.
[[nodiscard]] std::string received_path(const std::string& digest, const std::string& hex);
/// How much of that an import which was interrupted left.
[[nodiscard]] std::uint64_t received_bytes(const base::Root& root, const std::string& digest,
                                           const std::string& hex);
/// And of all of them.
[[nodiscard]] std::uint64_t received_bytes(const base::Root& root, const std::string& digest);
/// Blobs that this host takes from a bundle and does not have, in the bundle's order. They point into the manifest.
[[nodiscard]] std::vector<const Member*>
missing_members(const base::Root& root, const BundleManifest& manifest, const HostFacts& host);

/// Leaves in the incoming directory what commit_bundle() names. What other bundles left there is not its own to remove.
/// Large blobs of a file are read by some threads at once, unless its disk turns.
[[nodiscard]] base::Result<void> receive_blobs(const base::Root& root, BundleReader& bundle,
                                               const HostFacts& host, const OnBytes& on_bytes);
/// The same of a stream of blobs (images/import/blob_stream.hpp), whose signed manifest was read.
[[nodiscard]] base::Result<void> receive_blobs(const base::Root& root, const SignedManifest& bundle,
                                               BundleInput& input, const HostFacts& host,
                                               const OnBytes& on_bytes);

} // namespace gpuhost::images
