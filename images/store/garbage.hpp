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

/// Removes the blobs that no bundle in the catalogue owns. If one entry of the catalogue can't be read, nothing is
/// removed.
[[nodiscard]] base::Result<Freed> remove_garbage(const base::Root& root);
/// Are there such blobs? No, where it can't be told.
[[nodiscard]] bool has_garbage(const base::Root& root);

/// Can it be told what the bundles but this one own? Without that nothing is removed.
[[nodiscard]] base::Result<void> check_owners(const base::Root& root, const std::string& except);

/// Removes a bundle, and then what is garbage. Its own entry need not be readable; absent is fine.
[[nodiscard]] base::Result<Freed> remove_bundle(const base::Root& root, const std::string& name);

} // namespace gpuhost::images
