// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <string>

namespace gpuhost::images {

/// The blobs that were removed from the store: their number and total bytes.
struct Freed {
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;
};

/// Removes the blobs in the store that no bundle in the catalogue owns. Fails and removes nothing if an entry
/// of the catalogue is unreadable, since its blobs are then unknown.
[[nodiscard]] base::Result<Freed> remove_garbage(const base::Root& root);
/// Reports whether the store has blobs that remove_garbage() would remove. Returns false if an entry of the
/// catalogue is unreadable.
[[nodiscard]] bool has_garbage(const base::Root& root);

/// Fails if the list of blobs of a bundle other than `except` is unreadable. The bundle `except` cannot be
/// removed then, because it is unknown which blobs are still in use.
[[nodiscard]] base::Result<void> check_owners(const base::Root& root, const std::string& except);

/// Removes a bundle from the catalogue, then the blobs that no other bundle owns. Records the generation of a
/// signed bundle first (generations.hpp). The bundle's own entry may be unreadable or absent.
[[nodiscard]] base::Result<Freed> remove_bundle(const base::Root& root, const std::string& name);

} // namespace gpuhost::images
