// SPDX-License-Identifier: Apache-2.0
// The first half of an import: what is missing comes in beside the store, and is compared with its digest on the way.
#pragma once

#include "images/bundle_reader.hpp"
#include "images/host_facts.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace gpuhost::images {

/// Told of each part of the bundle that is done with, in bytes. Never by two threads at once.
using OnBytes = std::function<void(std::uint64_t)>;

/// Where what comes in is kept until it is committed; `name` is the digest of the bundle's manifest.
[[nodiscard]] std::string incoming_of(std::string_view name);
/// The signed one in it, which is written last.
[[nodiscard]] std::string incoming_manifest(std::string_view name);

/// Leaves in the incoming directory what commit_bundle() names. What other bundles left there is not its own to remove.
/// Large blobs of a file are read by some threads at once, unless its disk turns.
[[nodiscard]] base::Result<void> receive_blobs(const base::Root& root, BundleReader& bundle,
                                               const HostFacts& host, const OnBytes& on_bytes);

} // namespace gpuhost::images
