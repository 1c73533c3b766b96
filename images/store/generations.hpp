// SPDX-License-Identifier: Apache-2.0
// Records the generation of each signed bundle when the bundle is removed. A later import of an older
// generation is refused unless a downgrade is allowed. The file is /var/lib/gpuhost/catalogue/.generations:
// {name: generation}.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace gpuhost::images {

/// Returns the recorded generation; 0 if no bundle of that name was removed. Fails with BadContent if the
/// file is damaged.
[[nodiscard]] base::Result<std::uint64_t> removed_generation(const base::Root& root, const std::string& name);
/// Returns the recorded generations by name.
[[nodiscard]] base::Result<std::map<std::string, std::uint64_t>> removed_generations(const base::Root& root);
/// Records a generation durably. Call it before the bundle's entry in the catalogue is removed.
[[nodiscard]] base::Result<void> remember_generation(const base::Root& root, const std::string& name,
                                                     std::uint64_t generation);

} // namespace gpuhost::images
