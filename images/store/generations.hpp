// SPDX-License-Identifier: Apache-2.0
// Which generation a signed bundle had that was removed: an older one does not come in behind it unless somebody says so.
// {name: generation} in /var/lib/gpuhost/catalogue/.generations.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace gpuhost::images {

/// 0 if none of that name was removed. BadContent if nobody can say.
[[nodiscard]] base::Result<std::uint64_t> removed_generation(const base::Root& root, const std::string& name);
/// Of all names.
[[nodiscard]] base::Result<std::map<std::string, std::uint64_t>> removed_generations(const base::Root& root);
/// Durable when it returns: before the bundle's record goes.
[[nodiscard]] base::Result<void> remember_generation(const base::Root& root, const std::string& name,
                                                     std::uint64_t generation);

} // namespace gpuhost::images
