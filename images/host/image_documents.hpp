// SPDX-License-Identifier: Apache-2.0
// What people ask about images, as documents: org.gpuhost1(5) describes them.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "images/store/references.hpp"

#include <string>

namespace gpuhost::images {

/// "*" in it fits "/" too. Without "*", "?" or "[" it may stand anywhere in the name; an empty one fits all.
[[nodiscard]] bool fits_pattern(const std::string& name, const std::string& pattern);

/// Every name that `pattern` fits, by who has it.
[[nodiscard]] base::Json list_images(const References& references, const std::string& pattern);

/// NotFound if nobody has that name. Counts what is missing of the bundle that has it, which is what an import would
/// bring back.
[[nodiscard]] base::Result<base::Json> show_image(const base::Root& root, const References& references,
                                                  const std::string& name);

} // namespace gpuhost::images
