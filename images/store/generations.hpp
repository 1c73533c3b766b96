// SPDX-License-Identifier: Apache-2.0
// The last generation of each removed signed bundle. An import refuses an older one unless a downgrade is
// allowed. The file is /var/lib/gpuhost/catalogue/.generations: {name: generation}.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace gpuhost::images {

/// Returns 0 if no bundle of that name was removed. Fails with BadContent if the file is damaged.
[[nodiscard]] base::Result<std::uint64_t> removed_generation(const base::Root& root, const std::string& name);
/// Returns the generations of all names.
[[nodiscard]] base::Result<std::map<std::string, std::uint64_t>> removed_generations(const base::Root& root);
/// Records a generation durably. Callers do this before they remove the bundle's record.
[[nodiscard]] base::Result<void> remember_generation(const base::Root& root, const std::string& name,
                                                     std::uint64_t generation);

} // namespace gpuhost::images
