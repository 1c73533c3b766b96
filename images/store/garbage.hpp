// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <string>

namespace gpuhost::images {

struct Freed {
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;
};

/// Removes the blobs that no bundle in the catalogue owns. Removes nothing if any entry of the catalogue is
/// unreadable.
[[nodiscard]] base::Result<Freed> remove_garbage(const base::Root& root);
/// Reports whether there are such blobs. Returns false if an entry is unreadable.
[[nodiscard]] bool has_garbage(const base::Root& root);

/// Fails if the blobs of a bundle other than `except` are unknown. Nothing can be removed then.
[[nodiscard]] base::Result<void> check_owners(const base::Root& root, const std::string& except);

/// Removes a bundle and then its garbage. The bundle's own entry may be unreadable or absent.
[[nodiscard]] base::Result<Freed> remove_bundle(const base::Root& root, const std::string& name);

} // namespace gpuhost::images
